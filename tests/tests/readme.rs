//! What the README says to type works, in the order it is written, on a home where nothing was before.

use std::path::Path;
use std::process::Stdio;

use mework_tests::programs::{Home, command, mework};

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap()
}

/// The lines of the fenced shell blocks.
fn typed(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.lines()
        .filter(|line| match *line {
            "```sh" => {
                inside = true;
                false
            }
            "```" => {
                inside = false;
                false
            }
            _ => inside,
        })
        .collect()
}

#[test]
fn its_commands_work() {
    let text = readme();
    let lines: Vec<&str> = typed(&text).into_iter().filter(|line| line.starts_with("mework ")).collect();
    assert!(lines.len() >= 5, "{lines:?}");
    let home = Home::empty();
    let program = mework();
    let mut environment = home.environment();
    let path = environment.iter_mut().find(|(name, _)| *name == "PATH").unwrap();
    let mut front = program.parent().unwrap().as_os_str().to_owned();
    front.push(":");
    front.push(&path.1);
    path.1 = front;
    for line in lines {
        let output = command("sh")
            .args(["-c", line])
            .current_dir(home.path())
            .envs(environment.clone())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        // `doctor` answers 1 where something is missing, which is this machine's affair.
        let fine = output.status.success() || line == "mework doctor";
        let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(fine && !said.is_empty(), "`{line}` ended with {}:\n{said}\n{complained}", output.status);
        if line.contains(" call ") {
            assert!(said.contains("42"), "{said}");
        }
    }
}

#[test]
fn its_other_commands_and_links_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = readme();
    let others: Vec<&str> = typed(&text).into_iter().filter(|line| !line.starts_with("mework ")).collect();
    assert_eq!(others, ["make run", "make test"], "these two are all a newcomer needs");
    let makefile = std::fs::read_to_string(root.join("Makefile")).unwrap();
    assert!(makefile.contains("\nrun: ") && makefile.contains("\ntest: "));
    for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|link| !link.starts_with("https://")) {
        assert!(root.join(link).exists(), "{link}");
    }
}
