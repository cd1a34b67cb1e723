//! What is different on Windows: job objects, batch files, finding programs, files that others hold open (B12, B17, B25,
//! rows 12, 13, 26). Real processes; this program is also each of them, so it has its own `main`.

#[cfg(not(windows))]
fn main() {}

#[cfg(windows)]
fn main() {
    tests::main();
}

#[cfg(windows)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests, without the attribute that says so")]

    use std::ffi::OsString;
    use std::fs;
    use std::io::{Read, Write};
    use std::os::windows::ffi::OsStrExt;
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use mework_engine::machine::environment::Environment;
    use mework_engine::machine::process::{Exit, Found, Process, Program, ResolveError, SpawnError, Spec};
    use mework_engine::machine::resolve::path_folders;
    use mework_engine::machine::{FileRead, Machine, Surroundings, WriteError};
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    /// What a started copy of this program is to be.
    const ROLE: &str = "TEST_ROLE";
    /// Where a grandchild says that it lives, again and again.
    const SIGN: &str = "TEST_SIGN";

    pub fn main() {
        if let Ok(role) = std::env::var(ROLE) {
            return act(&role);
        }
        let chosen = std::env::args().nth(1).filter(|a| !a.starts_with('-')).unwrap_or_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        macro_rules! run {
            ($($test:ident),* $(,)?) => { $(
                if stringify!($test).contains(&chosen) {
                    print!("test {} ... ", stringify!($test));
                    std::io::stdout().flush().unwrap();
                    runtime.block_on($test());
                    println!("ok");
                }
            )* };
        }
        run![
            a_plain_kill_leaves_the_grandchild,
            dropping_the_handle_ends_the_grandchild_row_26,
            the_end_of_the_server_ends_the_grandchild_row_26,
            stopping_waits_and_says_how_it_ended_b25,
            streams_reach_the_server_and_its_environment_is_all_it_gets_b11,
            a_batch_file_gets_hostile_arguments_byte_for_byte_or_is_refused_row_12,
            a_program_gets_hostile_arguments_byte_for_byte_row_12,
            programs_are_found_as_windows_names_them_b12_row_13,
            what_a_batch_file_calls_is_not_looked_for_in_the_folder_it_runs_in_row_13,
            a_file_is_replaced_whole_b17,
            a_file_that_another_program_holds_is_left_as_it_is_b17,
            a_file_that_another_program_only_reads_is_replaced_b17,
            a_read_only_file_stays_as_it_is_b17,
            what_is_no_file_is_not_read_row_27,
        ];
    }

    fn act(role: &str) {
        let sign = || std::env::var_os(SIGN).map(PathBuf::from).unwrap();
        match role {
            "arguments" => {
                let units = |a: OsString| a.encode_wide().map(|u| format!("{u:04x}")).collect::<String>();
                for argument in std::env::args_os().skip(1) {
                    println!("{}", units(argument));
                }
                println!("end");
            }
            "who" => println!("{}", own().display()),
            "environment" => {
                let mut line = String::new();
                std::io::stdin().read_line(&mut line).unwrap();
                println!("{}", line.trim_end());
                for (name, value) in std::env::vars() {
                    println!("{name}={value}");
                }
                std::process::exit(7);
            }
            // Until its folder goes; and never for ever, should a test end early.
            "grandchild" => {
                let began = Instant::now();
                while sign().parent().is_some_and(Path::exists) && began.elapsed() < Duration::from_secs(120) {
                    let _ = fs::write(sign(), began.elapsed().as_nanos().to_string());
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            // Starts a grandchild that keeps none of its streams, then waits for the end of its input or for ever.
            "stays" | "ends" => {
                use std::process::{Command, Stdio};
                #[allow(clippy::disallowed_methods, reason = "what a server does")]
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.env(ROLE, "grandchild").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                #[allow(clippy::zombie_processes, reason = "it is to outlive this program")]
                command.spawn().unwrap();
                while !sign().exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                println!("ready");
                if role == "ends" {
                    let _ = std::io::stdin().read_to_end(&mut Vec::new());
                    std::process::exit(3);
                }
                loop {
                    std::thread::park();
                }
            }
            other => panic!("no such role: {other}"),
        }
    }

    fn machine() -> Machine {
        let home = std::env::temp_dir();
        Machine::local(Surroundings { data: home.clone(), home, environment: Environment::default(), supervisor: vec![] })
    }

    fn own() -> PathBuf {
        std::env::current_exe().unwrap()
    }

    /// Where Wine differs from Windows, the test that asks this says in what.
    fn wine() -> bool {
        Path::new("C:\\windows\\system32\\winecfg.exe").exists()
    }

    /// The environment of every server here: what Windows itself needs, and the role.
    fn environment(role: &str) -> Environment {
        let mut env = Environment::of_process().base();
        env.set(ROLE, role);
        env
    }

    async fn with_grandchild(role: &str, folder: &Path) -> (Process, PathBuf) {
        let sign = folder.join("sign");
        let mut env = environment(role);
        env.set(SIGN, &sign);
        let mut server = machine().spawn(Spec { program: own(), args: vec![], cwd: folder.into(), env }).await.unwrap();
        let mut line = String::new();
        BufReader::new(&mut server.stdout).read_line(&mut line).await.unwrap();
        assert_eq!(line.trim_end(), "ready");
        assert!(lives(&sign), "the grandchild runs");
        (server, sign)
    }

    /// Whether a sign is still renewed. Nobody is told of a foreign process's end, so it is looked at for a while.
    fn lives(sign: &Path) -> bool {
        let first = fs::read(sign).unwrap();
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
            // Empty: caught between being emptied and written.
            if fs::read(sign).is_ok_and(|now| !now.is_empty() && now != first) {
                return true;
            }
        }
        false
    }

    fn ends(what: &str, sign: &Path) {
        let until = Instant::now() + Duration::from_secs(20);
        while lives(sign) {
            assert!(Instant::now() < until, "{what}");
        }
    }

    /// The control: without a job the grandchild would stay, so the other tests can fail.
    async fn a_plain_kill_leaves_the_grandchild() {
        let folder = tempfile::tempdir().unwrap();
        let sign = folder.path().join("sign");
        #[allow(clippy::disallowed_methods, reason = "the control goes past the door on purpose")]
        let mut command = std::process::Command::new(own());
        command.env(ROLE, "stays").env(SIGN, &sign).stdout(std::process::Stdio::piped());
        let mut server = command.spawn().unwrap();
        server.stdout.take().unwrap().read_exact(&mut [0; 5]).unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(lives(&sign));
        drop(folder);
    }

    async fn dropping_the_handle_ends_the_grandchild_row_26() {
        let folder = tempfile::tempdir().unwrap();
        let (server, sign) = with_grandchild("stays", folder.path()).await;
        drop(server);
        ends("the job ends all that is in it", &sign);
    }

    async fn the_end_of_the_server_ends_the_grandchild_row_26() {
        let folder = tempfile::tempdir().unwrap();
        let (server, sign) = with_grandchild("ends", folder.path()).await;
        let Process { stdin, handle, .. } = server;
        drop(stdin);
        assert_eq!(handle.exited().await, Exit::Code(3));
        ends("nothing of a server outlives it", &sign);
    }

    async fn stopping_waits_and_says_how_it_ended_b25() {
        let folder = tempfile::tempdir().unwrap();
        let (server, sign) = with_grandchild("ends", folder.path()).await;
        let Process { stdin, handle, .. } = server;
        drop(stdin);
        assert_eq!(handle.stop().await, Exit::Code(3));
        ends("stopped", &sign);
        let folder = tempfile::tempdir().unwrap();
        let (server, sign) = with_grandchild("stays", folder.path()).await;
        // Terminated by the job, with the code it gives.
        assert_eq!(server.handle.kill().await, Exit::Code(1));
        ends("killed", &sign);
    }

    async fn streams_reach_the_server_and_its_environment_is_all_it_gets_b11() {
        use tokio::io::AsyncWriteExt;
        let folder = tempfile::tempdir().unwrap();
        let mut env = environment("environment");
        env.set("GIVEN", "wert ü €");
        let names: Vec<String> = env.iter().map(|(n, _)| n.to_str().unwrap().to_uppercase()).collect();
        let spec = Spec { program: own(), args: vec![], cwd: folder.path().into(), env };
        let mut server = machine().spawn(spec).await.unwrap();
        server.stdin.write_all("hällo\n".as_bytes()).await.unwrap();
        let mut said = String::new();
        server.stdout.read_to_string(&mut said).await.unwrap();
        let mut lines = said.lines();
        assert_eq!(lines.next(), Some("hällo"));
        let got: Vec<&str> = lines.collect();
        assert!(got.contains(&"GIVEN=wert ü €"), "{got:?}");
        for line in &got {
            let name = line.split('=').next().unwrap().to_uppercase();
            // What the system adds by itself, under Wine and on Windows, begins with these.
            let systems = ["WINE", "SYSTEMROOT", "SYSTEMDRIVE"].iter().any(|s| name.starts_with(s)) || name.is_empty();
            assert!(systems || name == "MEWORK_RUN" || names.contains(&name), "{line} was given to the server");
        }
        assert_eq!(server.handle.exited().await, Exit::Code(7));
    }

    /// What went wrong in many programs that start batch files.
    const HOSTILE: [&str; 24] = [
        "",
        " ",
        "plain",
        "two words",
        "\"",
        "\"\"",
        "a\"b",
        "\" & echo injected & \"",
        "& echo injected",
        "| echo injected",
        "> injected.txt",
        "^",
        "^^\"&",
        "%PATH%",
        "%TEST_ROLE%",
        "%",
        "%%",
        "!TEST_ROLE!",
        "(a)",
        "back\\slash\\",
        "back\\\\\"quote",
        "comma,semi;equals=",
        "grüße €",
        "tab\there",
    ];

    async fn arguments(program: &Path, args: &[&str], folder: &Path) -> Result<Vec<String>, SpawnError> {
        let args = args.iter().map(OsString::from).collect();
        let spec = Spec { program: program.into(), args, cwd: folder.into(), env: environment("arguments") };
        let mut server = machine().spawn(spec).await?;
        let mut said = String::new();
        server.stdout.read_to_string(&mut said).await.unwrap();
        let mut lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.pop(), Some("end"), "{said:?}");
        let decode = |line: &str| {
            let units: Vec<u16> =
                (0..line.len() / 4).map(|i| u16::from_str_radix(&line[i * 4..i * 4 + 4], 16).unwrap()).collect();
            String::from_utf16(&units).unwrap()
        };
        Ok(lines.into_iter().map(decode).collect())
    }

    async fn a_batch_file_gets_hostile_arguments_byte_for_byte_or_is_refused_row_12() {
        let folder = tempfile::tempdir().unwrap();
        let batch = folder.path().join("a server.cmd");
        fs::write(&batch, format!("@\"{}\" %*\r\n", own().display())).unwrap();
        // The standard library keeps cmd.exe from expanding what stands after a `%` by a trick that Wine's does not know.
        let shown_here = HOSTILE.into_iter().filter(|a| !(wine() && a.contains('%')));
        let mut equal = 0;
        for hostile in shown_here {
            match arguments(&batch, &[hostile, "after"], folder.path()).await {
                Ok(got) => {
                    assert_eq!(got, [hostile, "after"], "{hostile:?}");
                    equal += 1;
                }
                Err(SpawnError::UnsafeBatchArgument { index: 0, .. } | SpawnError::Exec { .. }) => {}
                Err(other) => panic!("{hostile:?}: {other}"),
            }
            let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
            assert_eq!(left, ["a server.cmd"], "{hostile:?} made a file");
        }
        assert!(equal > HOSTILE.len() / 2, "only {equal} were handed over");
        for refused in ["a\nb", "a\rb", "a\0b"] {
            let got = arguments(&batch, &["fine", refused], folder.path()).await;
            assert!(matches!(&got, Err(SpawnError::UnsafeBatchArgument { program, index: 1 }) if *program == batch), "{got:?}");
        }
    }

    async fn a_program_gets_hostile_arguments_byte_for_byte_row_12() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(arguments(&own(), &HOSTILE, folder.path()).await.unwrap(), HOSTILE);
        assert_eq!(arguments(&own(), &["a\nb", "a\rb"], folder.path()).await.unwrap(), ["a\nb", "a\rb"]);
    }

    async fn programs_are_found_as_windows_names_them_b12_row_13() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, first, second) = (folder.path().join("w"), folder.path().join("1"), folder.path().join("2"));
        for made in [&workspace, &first, &second] {
            fs::create_dir(made).unwrap();
        }
        for file in ["w\\npx.exe", "1\\npx", "1\\npx.js", "2\\npx.cmd", "2\\npx.exe", "2\\only.bat"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let path = std::env::join_paths([Path::new("."), Path::new(""), &first, &second]).unwrap();
        // Under another case, and with a PATHEXT that would find what nobody named.
        let env: Environment = [("Path", path), ("PATHEXT", ".JS;.EXE".into())].into_iter().collect();
        let on_path = |path: PathBuf| Program { path, found: Found::OnPath(second.clone()) };
        let find = |command: &str| machine().resolve(command, &workspace, &env);
        assert_eq!(find("npx").unwrap(), on_path(second.join("npx.EXE")));
        assert_eq!(find("npx.cmd").unwrap(), on_path(second.join("npx.cmd")));
        assert_eq!(find("ONLY").unwrap(), on_path(second.join("ONLY.BAT")));
        let missing = find("npx.js").unwrap_err();
        assert!(
            matches!(&missing, ResolveError::NotOnPath { path, .. } if *path == [first.clone(), second.clone()]),
            "{missing:?}"
        );
        let beside = find(".\\npx").unwrap();
        assert_eq!(beside, Program { path: workspace.join("npx.EXE"), found: Found::AsPath });
        assert!(matches!(find("..\\1\\npx"), Err(ResolveError::NoSuchFile { .. })));
    }

    /// cmd.exe looks into the current folder first, unless it is told not to; a server's is often a repository.
    async fn what_a_batch_file_calls_is_not_looked_for_in_the_folder_it_runs_in_row_13() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, bin) = (folder.path().join("w"), folder.path().join("bin"));
        for made in [&workspace, &bin] {
            fs::create_dir(made).unwrap();
            fs::copy(own(), made.join("helper.exe")).unwrap();
        }
        fs::write(bin.join("server.cmd"), "@echo %NoDefaultCurrentDirectoryInExePath%\r\n@helper\r\n").unwrap();
        let mut env = environment("who");
        let path = std::env::join_paths(std::iter::once(bin.clone()).chain(path_folders(&env))).unwrap();
        env.set("PATH", path);
        let spec = Spec { program: bin.join("server.cmd"), args: vec![], cwd: workspace.clone(), env };
        let mut server = machine().spawn(spec).await.unwrap();
        let mut said = String::new();
        server.stdout.read_to_string(&mut said).await.unwrap();
        let mut lines = said.lines();
        assert_eq!(lines.next(), Some("1"));
        let ran = lines.next().unwrap().to_lowercase();
        // Wine's cmd.exe does not know the variable, so there the first line is all that can be shown.
        if !wine() {
            assert_eq!(ran, bin.join("helper.exe").display().to_string().to_lowercase());
        }
    }

    async fn a_file_is_replaced_whole_b17() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("mcp.json");
        let machine = machine();
        machine.write(&file, None, b"one", Some(folder.path())).await.unwrap();
        machine.write(&file, Some(b"one"), b"two", Some(folder.path())).await.unwrap();
        let changed = machine.write(&file, Some(b"one"), b"three", None).await;
        assert!(matches!(changed, Err(WriteError::Changed { .. })), "{changed:?}");
        assert_eq!(machine.read(&file, 100, Some(folder.path())).await, FileRead::Bytes(b"two".to_vec()));
        let names: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["mcp.json"]);
    }

    async fn a_file_that_another_program_holds_is_left_as_it_is_b17() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        fs::write(&file, "one").unwrap();
        const SHARE_READ: u32 = 1;
        let held = fs::OpenOptions::new().read(true).share_mode(SHARE_READ).open(&file).unwrap();
        let refused = machine().write(&file, Some(b"one"), b"two", None).await;
        assert!(matches!(&refused, Err(WriteError::Io { path, .. }) if *path == file), "{refused:?}");
        assert_eq!(fs::read(&file).unwrap(), b"one");
        drop(held);
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["mcp.json"]);
        machine().write(&file, Some(b"one"), b"two", None).await.unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
    }

    /// As an editor, a virus scanner or another Mework has it open: reading, and letting others delete it.
    async fn a_file_that_another_program_only_reads_is_replaced_b17() {
        if wine() {
            return print!("left out (Wine 8 replaces no file that is open, however it is shared) ");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        fs::write(&file, "one").unwrap();
        let mut held = fs::File::open(&file).unwrap();
        machine().write(&file, Some(b"one"), b"two", None).await.unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        let mut read = String::new();
        held.read_to_string(&mut read).unwrap();
        assert_eq!(read, "one");
    }

    async fn a_read_only_file_stays_as_it_is_b17() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        fs::write(&file, "one").unwrap();
        let set = |readonly: bool| {
            let mut permissions = fs::metadata(&file).unwrap().permissions();
            permissions.set_readonly(readonly);
            fs::set_permissions(&file, permissions).unwrap();
        };
        set(true);
        let refused = machine().write(&file, Some(b"one"), b"two", None).await;
        assert!(
            matches!(&refused, Err(WriteError::Io { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied),
            "{refused:?}"
        );
        assert_eq!(fs::read(&file).unwrap(), b"one");
        set(false);
    }

    async fn what_is_no_file_is_not_read_row_27() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("w");
        fs::create_dir(&inside).unwrap();
        fs::write(folder.path().join("secret"), "out").unwrap();
        let machine = machine();
        assert_eq!(machine.read(&inside, 10, None).await, FileRead::NotRegular);
        // The names of devices, in every folder: some are refused, the others mean a file that is not there.
        for device in ["NUL", "CON", "COM1", "nul.json"] {
            let read = machine.read(&inside.join(device), 10, None).await;
            assert!(matches!(read, FileRead::Absent | FileRead::Failed(_)), "{device}: {read:?}");
        }
        let outside = machine.read(&inside.join("..\\secret"), 10, Some(&inside)).await;
        assert!(matches!(outside, FileRead::LeadsOutside(_)), "{outside:?}");
        assert_eq!(machine.read(&folder.path().join("SECRET"), 10, None).await, FileRead::Bytes(b"out".to_vec()));
    }
}
