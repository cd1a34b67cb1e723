//! Text from servers, files and processes: made safe to show ([`display`], security row 28) and free of secrets
//! ([`Scrubber`], row 16, B45). It does not decide what is shown where.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use base64::Engine as _;

/// A run of combining marks longer than this is cut off with a visible mark: stacked marks can cover other lines.
const COMBINING_RUN: usize = 8;

/// A character that would act on the text around it, or hide, instead of being seen.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' // C0 and C1 but tab and line feed
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' // tags and variation selectors
    )
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Makes every control, bidi, zero-width and tag character visible as `⟨U+202E⟩`. Line feeds and tabs stay.
pub fn display(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut combining = 0;
    for c in text.chars() {
        combining = if is_combining(c) { combining + 1 } else { 0 };
        if is_deceptive(c) || combining > COMBINING_RUN {
            let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// [`display`] for a place of one line: line feeds and tabs are made visible too.
pub fn display_line(text: &str) -> String {
    display(text).replace('\n', "⟨U+000A⟩").replace('\t', "⟨U+0009⟩")
}

/// [`display`], cut after `limit` characters of the original with an ellipsis.
pub fn display_capped(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => display(&text[..end]) + "…",
        None => display(text),
    }
}

/// The text up to `limit` bytes, at a character.
pub fn cut(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Text for a model: the same characters are removed instead of shown (B23), then it is cut after `limit` characters.
pub fn for_model(text: &str, limit: usize) -> String {
    text.chars().filter(|c| !is_deceptive(*c)).take(limit).collect()
}

/// Values shorter than this are not hidden: "1" or "true" would blank out half of every log.
const SECRET_MIN_BYTES: usize = 6;
/// So much of a value tells nothing of it yet.
const BEGUN_BYTES: usize = 3;
/// What stands where a secret stood.
const HIDDEN: &str = "•••";

/// The live secret values of the app: expanded variables, header values, secret-looking `env` values. Everything that is
/// logged or shown outside its own field passes through [`Scrubber::scrub`]. Cheap to clone; all clones share one list.
#[derive(Clone)]
pub struct Scrubber {
    values: Arc<RwLock<Known>>,
}

type Known = BTreeMap<Secret, Kept>;

/// For how long a value is hidden.
#[derive(Default)]
struct Kept {
    for_good: bool,
    /// How many [`Held`] hide it.
    held: usize,
}

/// Hides a value for as long as this lives: for those that servers hand out, as many as they like.
pub struct Held {
    scrubber: Scrubber,
    forms: Vec<String>,
}

/// Every list of this process: whoever writes of a panic knows none of the app's parts.
static LISTS: Mutex<Vec<Weak<RwLock<Known>>>> = Mutex::new(Vec::new());

impl Default for Scrubber {
    fn default() -> Self {
        let values = Arc::default();
        let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|list| list.strong_count() > 0);
        lists.push(Arc::downgrade(&values));
        Self { values }
    }
}

/// The text without any secret of this process. Never waits: `None` where a list cannot be read at this moment, as when the
/// thread that panics is writing to it.
pub fn scrub_for_panic(text: &str) -> Option<String> {
    let lists: Vec<_> = LISTS.try_lock().ok()?.iter().filter_map(Weak::upgrade).collect();
    let mut text = text.to_owned();
    for values in lists {
        text = hidden(&text, &*values.try_read().ok()?);
    }
    Some(text)
}

fn hidden(text: &str, known: &Known) -> String {
    let mut out = std::borrow::Cow::Borrowed(text);
    for Secret(_, value) in known.keys() {
        if out.contains(value.as_str()) {
            out = out.replace(value.as_str(), HIDDEN).into();
        }
    }
    out.into_owned()
}

/// Ordered by length, longest first, so that a value that contains another is hidden whole.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Secret(std::cmp::Reverse<usize>, String);

impl Secret {
    fn new(value: String) -> Self {
        Self(std::cmp::Reverse(value.len()), value)
    }
}

/// A value and the forms it leaks in; none for one that is too short to be hidden.
fn forms(value: &str) -> Vec<String> {
    if value.len() < SECRET_MIN_BYTES {
        return Vec::new();
    }
    let mut forms = vec![value.to_string()];
    forms.extend(value.lines().map(|line| line.trim().to_string()));
    // "Bearer TOKEN" is one header value, but the token alone is what leaks.
    forms.extend(value.split_whitespace().filter(|word| word.len() >= 8 && *word != value).map(str::to_string));
    forms.push(base64::engine::general_purpose::STANDARD.encode(value));
    forms.push(base64::engine::general_purpose::STANDARD_NO_PAD.encode(value));
    forms.push(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value));
    forms.push(url::form_urlencoded::byte_serialize(value.as_bytes()).collect());
    forms.push(serde_json::to_string(value).unwrap_or_default().trim_matches('"').to_string());
    forms.retain(|form| form.len() >= SECRET_MIN_BYTES);
    forms
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut known = self.scrubber.values.write().unwrap_or_else(PoisonError::into_inner);
        for form in self.forms.drain(..) {
            let secret = Secret::new(form);
            if let Some(kept) = known.get_mut(&secret) {
                kept.held -= 1;
                if kept.held == 0 && !kept.for_good {
                    known.remove(&secret);
                }
            }
        }
    }
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scrubber")
    }
}

impl Scrubber {
    /// Adds values, each also in the forms it often appears in: base64, URL-encoded, JSON-escaped, and line by line.
    pub fn add<S: AsRef<str>>(&self, values: impl IntoIterator<Item = S>) {
        let mut known = self.values.write().unwrap_or_else(PoisonError::into_inner);
        for form in values.into_iter().flat_map(|value| forms(value.as_ref())) {
            known.entry(Secret::new(form)).or_default().for_good = true;
        }
    }

    /// [`add`](Self::add), until what this returns is dropped.
    #[must_use]
    pub fn hold(&self, value: &str) -> Held {
        let mut known = self.values.write().unwrap_or_else(PoisonError::into_inner);
        let forms = forms(value);
        for form in &forms {
            known.entry(Secret::new(form.clone())).or_default().held += 1;
        }
        Held { scrubber: self.clone(), forms }
    }

    /// The text with every known value replaced by `•••`.
    pub fn scrub(&self, text: &str) -> String {
        hidden(text, &self.values.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// [`scrub`](Self::scrub), then [`display`]: how a server's words reach a log or a message.
    pub fn show(&self, text: &str) -> String {
        display(&self.scrub(text))
    }

    /// [`show`](Self::show) of the first `limit` bytes. Where the text was cut, here or before (it ends in `…`), the rest
    /// of a value that the cut went through is hidden too.
    pub fn show_cut(&self, text: &str, limit: usize) -> String {
        let kept = self.scrub(cut(text, limit));
        let whole = text.len() < limit && !text.ends_with('…');
        display(&if whole { kept } else { self.scrub_end(&kept) })
    }

    /// Hides the beginning of a known value that stands at the end of a text.
    fn scrub_end(&self, text: &str) -> String {
        // A character that was cut in two is read as U+FFFD.
        let body = text.trim_end_matches(['…', '\u{fffd}']);
        let known = self.values.read().unwrap_or_else(PoisonError::into_inner);
        let begun = |value: &str| {
            let longest = value.len().min(body.len() + 1);
            (BEGUN_BYTES..longest).rev().find(|n| value.is_char_boundary(*n) && body.ends_with(&value[..*n]))
        };
        match known.keys().filter_map(|Secret(_, value)| begun(value)).max() {
            Some(bytes) => format!("{}{HIDDEN}{}", &body[..body.len() - bytes], &text[body.len()..]),
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Security row 28.
    #[test]
    fn row28_deceptive_characters_become_visible() {
        for (raw, shown) in [
            ("plain äö 漢字 🦀", "plain äö 漢字 🦀"),
            ("two\nlines\tand a tab", "two\nlines\tand a tab"),
            ("\u{1b}[31mred", "⟨U+001B⟩[31mred"),
            ("\u{1b}]52;c;aGk=\u{7}", "⟨U+001B⟩]52;c;aGk=⟨U+0007⟩"),
            ("a\u{202e}b", "a⟨U+202E⟩b"),
            ("a\u{2066}b\u{2069}", "a⟨U+2066⟩b⟨U+2069⟩"),
            ("zero\u{200b}width\u{feff}", "zero⟨U+200B⟩width⟨U+FEFF⟩"),
            ("tag\u{e0041}", "tag⟨U+E0041⟩"),
            ("line\u{2028}sep", "line⟨U+2028⟩sep"),
            ("c1\u{9b}", "c1⟨U+009B⟩"),
            ("cr\rback", "cr⟨U+000D⟩back"),
            ("vs\u{fe0f}", "vs⟨U+FE0F⟩"),
        ] {
            assert_eq!(display(raw), shown);
        }
    }

    #[test]
    fn row28_a_stack_of_combining_marks_ends() {
        let raw = format!("a{}", "\u{301}".repeat(20));
        assert_eq!(display(&raw), format!("a{}{}", "\u{301}".repeat(8), "⟨U+0301⟩".repeat(12)));
    }

    #[test]
    fn one_line_places_show_line_breaks() {
        assert_eq!(display_line("a\nb\tc"), "a⟨U+000A⟩b⟨U+0009⟩c");
    }

    #[test]
    fn b23_models_get_the_text_without_them() {
        assert_eq!(for_model("a\u{202e}b\u{200b}c and more", 5), "abc a");
        assert_eq!(display_capped("abcdef", 3), "abc…");
        assert_eq!(display_capped("abc", 3), "abc");
    }

    /// Security row 16: a value is hidden in every form it usually leaks in.
    #[test]
    fn row16_secrets_are_hidden_in_all_their_forms() {
        let scrubber = Scrubber::default();
        scrubber.add(["Bearer s3cr3t/token+1", "line one\nline \"two\"", "short"]);
        for leaked in [
            "Authorization: Bearer s3cr3t/token+1",
            "token=s3cr3t/token+1",
            "QmVhcmVyIHMzY3IzdC90b2tlbisx",
            "q=Bearer+s3cr3t%2Ftoken%2B1",
            "log: line one",
            r#"{"v":"line one\nline \"two\""}"#,
        ] {
            let shown = scrubber.scrub(leaked);
            assert!(shown.contains("•••"), "{leaked} → {shown}");
            assert!(!shown.contains("s3cr3t") && !shown.contains("line one"), "{leaked} → {shown}");
        }
        assert_eq!(scrubber.scrub("short words stay"), "short words stay");
    }

    #[test]
    fn row16_a_cut_leaves_no_part_of_a_secret() {
        let scrubber = Scrubber::default();
        scrubber.add(["s3cret-tökén-0123456789", "other-value"]);
        for whole in ["key=s3cret-tökén-0123456789 end", "s3cret-tökén-0123456789"] {
            for limit in 0..whole.len() {
                let shown = scrubber.show_cut(whole, limit);
                assert!(!shown.contains("s3c"), "{limit}: {shown}");
            }
        }
        // Somebody else cut it and said so.
        for (text, shown) in [
            ("key=s3cret-tö…", "key=•••…"),
            ("key=s3cret-t\u{fffd}…", "key=•••\u{fffd}…"),
            ("key=s3cret-tö", "key=s3cret-tö"),
            ("nothing here…", "nothing here…"),
        ] {
            assert_eq!(scrubber.show_cut(text, 100), shown);
        }
    }

    /// What servers hand out is hidden while it is of use, and no longer: they may hand out as much as they like.
    #[test]
    fn row16_a_held_value_is_hidden_until_nobody_holds_it() {
        let scrubber = Scrubber::default();
        scrubber.add(["for-good-0"]);
        let before = scrubber.values.read().unwrap().len();
        let (one, two) = (scrubber.hold("session-1"), scrubber.hold("session-1"));
        let also = scrubber.hold("for-good-0");
        assert_eq!(scrubber.scrub("session-1 for-good-0"), "••• •••");
        drop((one, also));
        assert_eq!(scrubber.scrub("session-1 for-good-0"), "••• •••");
        drop(two);
        assert_eq!(scrubber.scrub("session-1 for-good-0"), "session-1 •••");
        assert_eq!(scrubber.values.read().unwrap().len(), before);
    }

    #[test]
    fn row16_the_longest_value_wins() {
        let scrubber = Scrubber::default();
        scrubber.add(["abcdef", "abcdef-ghijkl"]);
        assert_eq!(scrubber.scrub("x abcdef-ghijkl y abcdef"), "x ••• y •••");
        assert_eq!(format!("{scrubber:?}"), "Scrubber");
    }
}
