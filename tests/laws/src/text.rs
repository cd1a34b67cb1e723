//! Text is shown without characters that hide or act, and without a secret, however it is cut.

use mework_engine::text::{Scrubber, cut, display, display_capped, display_line, for_model};

/// Something that a text does not hold by chance: its characters are taken out of what stands around it.
const SECRETS: [&str; 4] = ["Zq9-Zq9-Zq9", "Zq9 Zq9Zq9Zq9", "Zq9\nZq9\"Zq9", "Zq9é€🦀Zq9"];

/// Where a secret stands and where the text is cut; the text around it.
pub fn law(data: &[u8]) {
    let Some(([at, limit, which], text)) = data.split_first_chunk::<3>() else { return };
    let text = String::from_utf8_lossy(text);
    safe(&text);
    secret(&text, usize::from(*at), usize::from(*limit), SECRETS[usize::from(*which) % SECRETS.len()]);
}

fn safe(text: &str) {
    let shown = display(text);
    assert!(shown.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
    assert!(!shown.contains(['\u{202e}', '\u{200b}', '\u{feff}', '\u{2066}', '\u{e0041}', '\u{fe0f}', '\u{ad}', '\u{2028}']));
    assert_eq!(display(&shown), shown, "what is shown is fit to be shown");
    assert!(shown.len() >= text.len(), "nothing is left out");
    assert!(!display_line(text).contains(['\n', '\t']));
    for limit in [0, 1, 7, 80] {
        let capped = display_capped(text, limit);
        assert_eq!(
            capped.strip_suffix('…').filter(|_| text.chars().count() > limit).unwrap_or(&capped),
            display(&text.chars().take(limit).collect::<String>())
        );
        let part = cut(text, limit);
        assert!(part.len() <= limit && text.starts_with(part) && part.len() + 3 >= limit.min(text.len()));
        let model = for_model(text, limit);
        assert!(model.chars().count() <= limit && model.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
    }
}

fn secret(text: &str, at: usize, limit: usize, secret: &str) {
    let around: Vec<char> = text.chars().filter(|c| !secret.contains(*c) && !"•…⟨⟩\u{fffd}".contains(*c)).take(512).collect();
    let (before, after) = around.split_at(at.min(around.len()));
    let whole: String = before.iter().copied().chain(secret.chars()).chain(after.iter().copied()).collect();
    let scrubber = Scrubber::default();
    scrubber.add([secret]);
    // It may hold the secret in another form by itself: what is looked for can be learned.
    let around: String = around.iter().collect();
    if scrubber.scrub(&around) != around {
        return;
    }
    let scrubbed = scrubber.scrub(&whole);
    let expected: String = before.iter().chain(&['•', '•', '•']).chain(after).collect();
    assert_eq!(scrubbed, expected);
    // Cut anywhere, in bytes that may end within a character, as what a reader of limited size kept.
    let shown = scrubber.show_cut(&whole, limit);
    assert!(!shown.contains("Zq9"), "{shown:?} shows the beginning of {secret:?}");
    let mut kept = String::from_utf8_lossy(&whole.as_bytes()[..limit.min(whole.len())]).into_owned();
    if limit < whole.len() {
        kept.push('…');
    }
    let shown = scrubber.show_cut(&kept, usize::MAX);
    assert!(!shown.contains("Zq9"), "{shown:?} shows the beginning of {secret:?}");
}
