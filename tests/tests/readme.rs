//! What the README says to type works, in the order it is written, on a home where nothing was before.
// The README's shell blocks are for a Unix shell.
#![cfg(unix)]

use std::path::Path;
use std::process::Stdio;

use mework_tests::programs::{Home, Running, command, mework};

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

/// What `make run` ends with on a machine without a display, once everything is built.
#[test]
fn make_run_without_a_display_says_so_and_serves_a_browser() {
    use std::io::{BufRead, BufReader};
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let home = Home::empty();
    let mut run = command(root.join("scripts/run"));
    run.envs(home.environment()).env_remove("DISPLAY").env("WAYLAND_DISPLAY", "").stdout(Stdio::piped());
    let mut running = Running::start(&mut run);
    let lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut said = Vec::new();
    for line in lines {
        let address = line.contains("http://127.0.0.1:");
        said.push(line);
        if address {
            break;
        }
    }
    let said = said.join("\n");
    assert!(said.contains("There is no display here"), "{said}");
    let address = said.split("http://127.0.0.1:").nth(1).unwrap_or_else(|| panic!("no address: {said}"));
    let port = address.split(|c: char| !c.is_ascii_digit()).next().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port.parse().unwrap())).is_ok(), "{said}");
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
