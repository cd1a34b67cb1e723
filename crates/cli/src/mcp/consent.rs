//! Showing what a server would start, in full, and asking (security rows 1–3): nothing starts before a person agreed to
//! exactly this entry. `--yes` is that person's answer given beforehand.

use mework_engine::config::Server;
use mework_engine::engine::Engine;
use mework_engine::text::{display, display_line};
use mework_engine::wire::{Consent, ConsentView, EntryView, ServerReview, VariableUse};

use crate::declared::{Choice, Declared};
use crate::output::{Colour, Stop, Style, note, say};
use crate::terminal;

/// What came of asking.
pub enum Agreed {
    /// Start it, with this digest if it was agreed to just now.
    Yes(Option<String>),
    No(String),
}

/// Asks only if nobody has agreed to this entry as it stands.
pub async fn ask(engine: &Engine, declared: &Declared, choice: Choice<'_>, server: &Server, yes: bool) -> Result<Agreed, Stop> {
    match engine.consent(server).await? {
        Consent::Given => return Ok(Agreed::Yes(None)),
        Consent::Needed | Consent::Changed => {}
    }
    let review = ServerReview { conversation: None, server: choice.id() };
    let view = engine.server_review(review).await?;
    let name = display_line(&view.name);
    say(&shown(&view, declared, Style::stderr()));
    if yes {
        return Ok(Agreed::Yes(Some(view.digest)));
    }
    if !terminal::is_present() {
        let which = if view.old.is_some() { "it changed since somebody agreed to it" } else { "nobody has agreed to it yet" };
        return Ok(Agreed::No(format!(
            "{name} was not started: {which}, and there is no terminal to ask at. If the above is what you want, pass --yes."
        )));
    }
    if terminal::confirm(&format!("Start {name}?")).await {
        Ok(Agreed::Yes(Some(view.digest)))
    } else {
        Ok(Agreed::No(format!("{name} was not started: you did not agree to it.")))
    }
}

/// Everything a start would do, uncut.
fn shown(view: &ConsentView, declared: &Declared, style: Style) -> String {
    let question = if view.old.is_some() {
        "changed since it was agreed to; it would now start this"
    } else {
        "would start this, and nobody has agreed to it yet"
    };
    let mut out = format!("\n{} {question}:\n", style.paint(Colour::Strong, &display_line(&view.name)));
    out += &entry(&view.new, style);
    out += &field("file", &declared.tilde(view.file.as_ref()));
    if view.old.is_some() {
        out += "  what changed:\n";
        for line in view.diff.iter().filter(|line| line.changed) {
            if let Some(old) = &line.old {
                out += &format!("    {}\n", style.paint(Colour::Bad, &format!("- {}", display_line(old))));
            }
            if let Some(new) = &line.new {
                out += &format!("    {}\n", style.paint(Colour::Good, &format!("+ {}", display_line(new))));
            }
        }
    }
    out
}

/// The lines of one entry, indented by two.
pub fn entry(view: &EntryView, style: Style) -> String {
    let mut out = String::new();
    // Row 35: where the code comes from stands first.
    if let Some(registry) = &view.registry_url {
        out += &field("registry", &display_line(registry));
    }
    if let Some(command) = &view.command {
        out += &field("command", &quoted(command));
    }
    for (number, argument) in view.args.iter().enumerate() {
        out += &field(if number == 0 { "arguments" } else { "" }, &quoted(argument));
    }
    if let Some(origin) = &view.url_origin {
        out += &field("address", &display_line(origin));
    }
    if let Some(cwd) = &view.cwd {
        out += &field("folder", &display_line(cwd));
    }
    let mut named = None;
    for VariableUse { name, place, warning } in &view.variables {
        let what = if place == "header" { "headers" } else { "variables" };
        let mut text = format!("{} ({})", display_line(name), display_line(place));
        if let Some(warning) = warning {
            text += &format!(" {}", style.paint(Colour::Bad, &format!("! {}", display_line(warning))));
        }
        out += &field(if named == Some(what) { "" } else { what }, &text);
        named = Some(what);
    }
    for text in &view.notes {
        out += &field("note", &display_line(text));
    }
    out
}

pub fn field(name: &str, value: &str) -> String {
    format!("  {name:<10} {value}\n")
}

/// A word of a command line, so that it is seen where one ends and what hides in it.
fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:=@%+,~^".contains(c));
    if plain { display(word) } else { format!("\"{}\"", display_line(&word.replace('\\', "\\\\").replace('"', "\\\""))) }
}

/// Servers nobody agreed to are named once, when a command runs all the others.
pub fn left_out(names: &[String]) {
    if !names.is_empty() {
        note(&format!("Left out, because nobody agreed to what they start: {}. Name one to see it and agree.", names.join(", ")));
    }
}
