//! An entry's text as an editor shows it, and back: an editor knows one kind of line end, and indentation that begins at
//! the margin. A line that a person leaves alone keeps its bytes, whatever kind of line end or white space those are.

/// The lines of a text, each with what ends it.
fn lines(text: &str) -> Vec<(&str, &str)> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let end = if rest[at..].starts_with("\r\n") { at + 2 } else { at + 1 };
        lines.push((&rest[..at], &rest[at..end]));
        rest = &rest[end..];
    }
    lines.push((rest, ""));
    lines
}

fn without<'a>(line: &'a str, indent: &str) -> &'a str {
    line.strip_prefix(indent).unwrap_or(line)
}

/// The text of a value for an editor. `indent`: what the line it begins on begins with.
pub fn shown(raw: &str, indent: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for (index, (line, end)) in lines(raw).into_iter().enumerate() {
        out.push_str(if index == 0 { line } else { without(line, indent) });
        if !end.is_empty() {
            out.push('\n');
        }
    }
    out
}

/// An editor's text as it goes into the file in place of `raw`. Lines at the beginning and at the end that are as they were
/// shown stay as they are in the file; the others take the file's indentation and line ends.
pub fn restored(raw: &str, indent: &str, newline: &str, text: &str) -> String {
    let text = text.trim_start_matches('\u{FEFF}').trim_matches([' ', '\t', '\r', '\n']);
    let old = lines(raw);
    let new: Vec<&str> = lines(text).into_iter().map(|(line, _)| line).collect();
    let same = |at: usize, now: usize| {
        let line = if at == 0 { old[0].0 } else { without(old[at].0, indent) };
        // A first line stands behind its key, the others at the margin.
        line == new[now] && (at == 0) == (now == 0)
    };
    let most = old.len().min(new.len());
    let head = (0..most).take_while(|&i| same(i, i)).count();
    let tail = (0..most - head).take_while(|&i| same(old.len() - 1 - i, new.len() - 1 - i)).count();
    let mut out = String::with_capacity(text.len());
    for (index, line) in new.iter().enumerate() {
        let kept = if index < head { Some(index) } else { (index >= new.len() - tail).then(|| index + old.len() - new.len()) };
        match kept {
            Some(at) => out.push_str(old[at].0),
            None => {
                if index > 0 && !line.is_empty() {
                    out.push_str(indent);
                }
                out.push_str(line);
            }
        }
        if index + 1 < new.len() {
            let end = kept.map_or("", |at| old[at].1);
            out.push_str(if end.is_empty() { newline } else { end });
        }
    }
    out
}
