//! Nothing a server starts outlives it, however it ends and whoever is killed (B25, row 26). Real processes throughout.
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use mework_engine::limits::{STDIN_CLOSE_GRACE, TERMINATE_GRACE};
use mework_engine::machine::environment::Environment;
use mework_engine::machine::process::{self, Exit, Process, SUPERVISE_FLAG, SpawnError, Spec};
use mework_engine::machine::{Machine, Surroundings};
use mework_tests::{Tag, eventually};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_test-supervisor");
const SERVER: &str = env!("CARGO_BIN_EXE_tree-server");
const APP: &str = env!("CARGO_BIN_EXE_app-standin");

const NONE: [i32; 0] = [];

/// A sweep would do the work of another test's supervisors for them.
static SWEEP: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The six kinds, and how many processes each is.
const KINDS: [(&str, usize); 6] =
    [("obeys-eof", 1), ("ignores-eof", 1), ("ignores-eof-and-term", 1), ("launcher", 2), ("setsid-child", 2), ("double-fork", 2)];

fn machine_with(environment: Environment) -> Machine {
    Machine::local(Surroundings {
        home: "/".into(),
        data: "/".into(),
        environment,
        supervisor: vec![SUPERVISOR.into(), SUPERVISE_FLAG.into()],
    })
}

fn machine() -> Machine {
    machine_with(Environment::default())
}

fn spec(program: impl Into<PathBuf>, args: &[&str], tag: &Tag) -> Spec {
    Spec {
        program: program.into(),
        args: args.iter().map(OsString::from).collect(),
        cwd: "/".into(),
        env: [(Tag::NAME, tag.value()), ("PATH", "/usr/bin:/bin")].into_iter().collect(),
    }
}

/// A server of this kind, once all of it runs.
async fn running(kind: &str, processes: usize) -> (Process, Tag) {
    running_on(&machine(), kind, processes).await
}

async fn running_on(machine: &Machine, kind: &str, processes: usize) -> (Process, Tag) {
    let tag = Tag::new();
    let mut server = machine.spawn(spec(SERVER, &[kind], &tag)).await.unwrap();
    let mut first = [0; 6];
    server.stdout.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"ready\n");
    assert_eq!(tag.processes().len(), processes, "{kind}");
    assert!(tag.processes().contains(&(server.handle.pid() as i32)));
    (server, tag)
}

fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

fn kill(pid: i32) {
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
}

async fn none_left(what: &str, tag: &Tag) {
    eventually(&format!("{what}: {:?} left", tag.processes()), || tag.processes().is_empty()).await;
}

#[tokio::test]
async fn stopping_leaves_nothing_b25_row_26() {
    for (kind, processes) in KINDS {
        let (server, tag) = running(kind, processes).await;
        let Process { stdin, handle, stdout, .. } = server;
        // From here: a server that obeys is gone at once, and its children's time begins.
        let began = std::time::Instant::now();
        drop(stdin);
        let exit = handle.stop().await;
        let patience = match kind {
            "obeys-eof" => std::time::Duration::ZERO,
            "ignores-eof" => STDIN_CLOSE_GRACE,
            "ignores-eof-and-term" => STDIN_CLOSE_GRACE + TERMINATE_GRACE,
            // The server obeys, and the child that ignores being told is given its time.
            _ => TERMINATE_GRACE,
        };
        assert!(began.elapsed() >= patience, "{kind}: {:?}", began.elapsed());
        assert_eq!(tag.processes(), NONE, "{kind}: nothing is left the moment stop returns");
        let wanted = match kind {
            "ignores-eof" => Exit::Signal(libc::SIGTERM),
            "ignores-eof-and-term" => Exit::Signal(libc::SIGKILL),
            _ => Exit::Code(0),
        };
        assert_eq!(exit, wanted, "{kind}");
        drop(stdout);
    }
}

#[tokio::test]
async fn killing_leaves_nothing_and_waits_for_no_one_row_26() {
    for (kind, processes) in KINDS {
        let (server, tag) = running(kind, processes).await;
        assert_eq!(server.handle.kill().await, Exit::Signal(libc::SIGKILL), "{kind}");
        assert_eq!(tag.processes(), NONE, "{kind}");
    }
}

#[tokio::test]
async fn dropping_leaves_nothing_row_26() {
    let mut tags = Vec::new();
    for (kind, processes) in KINDS {
        let (server, tag) = running(kind, processes).await;
        let exits = server.handle.exits();
        assert_eq!(exits.now(), None);
        drop(server);
        tags.push((kind, tag, exits));
    }
    for (kind, tag, exits) in tags {
        exits.wait().await;
        none_left(kind, &tag).await;
    }
}

#[tokio::test]
async fn a_killed_app_leaves_nothing_row_26() {
    let _alone = SWEEP.lock().await;
    let mut apps = Vec::new();
    for (kind, processes) in KINDS {
        let tag = Tag::new();
        #[expect(clippy::disallowed_methods, reason = "the app of this test")]
        let mut app = tokio::process::Command::new(APP)
            // As the real programs: the same program again.
            .args(["/proc/self/exe", SERVER, kind])
            .env(Tag::NAME, tag.value())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(app.stdout.take().unwrap()).lines();
        let pid: i32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
        let found = tag.processes();
        assert!(found.contains(&pid), "{kind}");
        assert_eq!(found.len(), processes + 1, "{kind}: the app and its server's tree; the supervisor carries no mark");
        app.start_kill().unwrap();
        assert_eq!(app.wait().await.unwrap().code(), None, "{kind}: it was killed");
        apps.push((kind, tag));
    }
    for (kind, tag) in apps {
        none_left(kind, &tag).await;
    }
}

#[tokio::test]
async fn a_killed_supervisor_leaves_nothing_row_26() {
    for (kind, processes) in KINDS {
        let (server, tag) = running(kind, processes).await;
        kill(parent(server.handle.pid() as i32));
        assert_eq!(server.handle.exited().await, Exit::Unknown, "{kind}");
        assert_eq!(server.handle.stop().await, Exit::Unknown, "{kind}");
        assert_eq!(tag.processes(), NONE, "{kind}");
    }
}

#[tokio::test]
async fn the_next_start_sweeps_up_after_app_and_supervisor_were_killed_b41() {
    let _alone = SWEEP.lock().await;
    let (tag, living) = (Tag::new(), running("launcher", 2).await);
    #[expect(clippy::disallowed_methods, reason = "the app of this test")]
    let mut app = tokio::process::Command::new(APP)
        .args([SUPERVISOR, SERVER, "double-fork"])
        .env(Tag::NAME, tag.value())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(app.stdout.take().unwrap()).lines();
    let pid: i32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
    let app_pid = app.id().unwrap() as i32;
    // Stopped first, so that the app cannot sweep up itself.
    unsafe { libc::kill(app_pid, libc::SIGSTOP) };
    kill(parent(pid));
    eventually("the server goes with its supervisor", || !tag.processes().contains(&pid)).await;
    process::sweep();
    assert_eq!(tag.processes().len(), 2, "the app, and the child that got away: while the app lives it is the app's own");
    app.start_kill().unwrap();
    app.wait().await.unwrap();
    assert_eq!(tag.processes().len(), 1);
    assert!(process::sweep() > 0);
    assert_eq!(tag.processes(), NONE);
    // What belongs to this living process was left alone.
    assert_eq!(living.1.processes().len(), 2);
    assert_eq!(living.0.handle.kill().await, Exit::Signal(libc::SIGKILL));
}

#[tokio::test]
async fn the_end_of_the_server_itself_ends_its_tree() {
    for (args, exit) in
        [(&["exits", "7"][..], Exit::Code(7)), (&["exits", "0"], Exit::Code(0)), (&["dies"], Exit::Signal(libc::SIGABRT))]
    {
        let tag = Tag::new();
        let server = machine().spawn(spec(SERVER, args, &tag)).await.unwrap();
        let exits = server.handle.exits();
        let (one, two) = tokio::join!(exits.wait(), server.handle.exited());
        assert_eq!((one, two), (exit, exit));
        none_left("its child", &tag).await;
        assert_eq!(server.handle.stop().await, exit);
    }
}

#[tokio::test]
async fn a_server_gets_what_the_spec_says_and_nothing_else_row_14() {
    let tag = Tag::new();
    let folder = tempfile::tempdir().unwrap();
    // Something of ours that is open and not marked to be closed.
    let leak = std::fs::File::open("/dev/null").unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&leak);
    unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
    let mut spec = spec(SERVER, &["tells", "", "a b", "$HOME", "'\"\\", "ö\n"], &tag);
    spec.cwd = folder.path().to_path_buf();
    spec.env.set("VALUE", "two\nlines");
    let mut server = machine().spawn(spec).await.unwrap();
    let mut told = String::new();
    server.stdout.read_to_string(&mut told).await.unwrap();
    assert_eq!(server.handle.exited().await, Exit::Code(0));
    let mut told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let cookie = told["env"].as_object_mut().unwrap().remove("MEWORK_RUN").unwrap();
    assert!(cookie.as_str().unwrap().contains(&format!(".{}.", std::process::id())), "{cookie}");
    assert_eq!(
        told,
        serde_json::json!({
            "args": ["", "a b", "$HOME", "'\"\\", "ö\n"],
            "cwd": std::fs::canonicalize(folder.path()).unwrap(),
            "env": { Tag::NAME: tag.value(), "PATH": "/usr/bin:/bin", "VALUE": "two\nlines" },
            // The fourth is the listing itself.
            "fds": [0, 1, 2, 3],
            "blocked": "0000000000000000",
            "session": true,
        })
    );
}

#[tokio::test]
async fn the_supervisor_shows_no_secret_and_loads_nothing_of_the_entry_row_15() {
    let tag = Tag::new();
    let mut spec = spec(SERVER, &["obeys-eof", "--token=s3cret-argument"], &tag);
    spec.env.set("TOKEN", "s3cret-value");
    // Harmless when it is missing: the loader says so and goes on.
    spec.env.set("LD_PRELOAD", "/none/s3cret.so");
    let machine = machine();
    let server = machine.spawn(spec).await.unwrap();
    let supervisor = parent(server.handle.pid() as i32);
    let fork_server = parent(supervisor);
    assert_eq!(parent(fork_server), std::process::id() as i32);
    let open = |pid| std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    for (pid, descriptors) in [(supervisor, 5), (fork_server, 4)] {
        let read = |what: &str| std::fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap();
        assert_eq!(read("environ"), "");
        let args = read("cmdline");
        assert!(args.starts_with(&format!("{SUPERVISOR}\0{SUPERVISE_FLAG}\0")) && !args.contains("s3cret"), "{args}");
        assert_eq!(std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), Path::new("/"));
        assert_eq!(open(pid), descriptors, "three times /dev/null, a socket, a supervisor's signals");
    }
    assert_eq!(server.handle.kill().await, Exit::Signal(libc::SIGKILL));
}

#[tokio::test]
async fn no_dead_children_pile_up() {
    // One machine for all, as the app has it: when it goes, what it started belongs to the system's first process.
    let machine = machine();
    for _ in 0..5 {
        let (server, _tag) = running_on(&machine, "obeys-eof", 1).await;
        let supervisor = parent(server.handle.pid() as i32);
        drop(server.stdin);
        assert_eq!(server.handle.stop().await, Exit::Code(0));
        eventually("the supervisor is gone, and nobody has to ask for its end", || {
            !Path::new(&format!("/proc/{supervisor}")).exists()
        })
        .await;
    }
}

/// Supervisors come from one process: when that ends, however it ends, those there are go on and new ones come from another.
#[tokio::test]
async fn a_killed_fork_server_costs_no_server() {
    let (machine, tag) = (machine(), Tag::new());
    let start = async || {
        let mut server = machine.spawn(spec(SERVER, &["obeys-eof"], &tag)).await.unwrap();
        let mut first = [0; 6];
        server.stdout.read_exact(&mut first).await.unwrap();
        server
    };
    let fork_server_of = |server: &Process| parent(parent(server.handle.pid() as i32));
    let (first, second) = (start().await, start().await);
    let killed = fork_server_of(&first);
    assert_eq!(fork_server_of(&second), killed);
    kill(killed);
    eventually("the fork server is gone", || !Path::new(&format!("/proc/{killed}")).exists()).await;
    let third = start().await;
    assert_ne!(fork_server_of(&third), killed);
    assert_eq!(tag.processes().len(), 3);
    for server in [first, second, third] {
        drop(server.stdin);
        assert_eq!(server.handle.stop().await, Exit::Code(0));
    }
    let last = start().await;
    let fork_server = fork_server_of(&last);
    drop(machine);
    eventually("the fork server ends with what it forks for", || !Path::new(&format!("/proc/{fork_server}")).exists()).await;
    assert_eq!(last.handle.kill().await, Exit::Signal(libc::SIGKILL));
    assert_eq!(tag.processes(), NONE);
}

/// One that is stopped may never go on: the next server does not wait for it, and nothing of it is left.
#[tokio::test]
async fn a_stopped_fork_server_is_given_up() {
    let (machine, tag) = (machine(), Tag::new());
    let start = async || machine.spawn(spec(SERVER, &["obeys-eof"], &tag)).await.unwrap();
    let fork_server_of = |server: &Process| parent(parent(server.handle.pid() as i32));
    let first = start().await;
    let stopped = fork_server_of(&first);
    assert_eq!(unsafe { libc::kill(stopped, libc::SIGSTOP) }, 0);
    let (second, third) = tokio::join!(start(), start());
    assert_ne!(fork_server_of(&second), stopped);
    assert_eq!(fork_server_of(&third), fork_server_of(&second));
    eventually("the stopped one is killed", || !Path::new(&format!("/proc/{stopped}")).exists()).await;
    for server in [first, second, third] {
        drop(server.stdin);
        assert_eq!(server.handle.stop().await, Exit::Code(0));
    }
    assert_eq!(tag.processes(), NONE);
    // Nor does one that is stopped outlive the machine it forked for.
    let last = start().await;
    let stopped = fork_server_of(&last);
    assert_eq!(unsafe { libc::kill(stopped, libc::SIGSTOP) }, 0);
    drop(machine);
    eventually("the last one is killed", || !Path::new(&format!("/proc/{stopped}")).exists()).await;
    assert_eq!(last.handle.kill().await, Exit::Signal(libc::SIGKILL));
}

#[tokio::test]
async fn says_why_a_program_cannot_be_started() {
    use std::os::unix::fs::PermissionsExt;
    let d = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str, mode: u32| {
        let path = d.path().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let tag = Tag::new();
    let fails = async |program: PathBuf| match machine().spawn(spec(program, &[], &tag)).await {
        Err(SpawnError::Exec { source, hint, .. }) => (source.raw_os_error().unwrap(), hint),
        other => panic!("{:?}", other.err()),
    };
    let (errno, hint) = fails(write("bare", "echo no shell runs this\n", 0o755)).await;
    assert_eq!(errno, libc::ENOEXEC);
    assert!(hint.unwrap().contains("does not say with `#!` which program runs it"));
    let (errno, hint) = fails(write("orphan", "#!/none/interpreter\n", 0o755)).await;
    assert_eq!(errno, libc::ENOENT);
    assert!(hint.unwrap().contains("is a script for /none/interpreter, which does not exist"));
    let (errno, hint) = fails(write("dull", "x", 0o644)).await;
    assert_eq!(errno, libc::EACCES);
    assert!(hint.unwrap().contains("chmod +x"));
    assert_eq!(fails(d.path().join("absent")).await, (libc::ENOENT, None));

    let mut nowhere = spec(SERVER, &["obeys-eof"], &tag);
    nowhere.cwd = d.path().join("nowhere");
    let folder = nowhere.cwd.clone();
    match machine().spawn(nowhere).await {
        Err(SpawnError::Folder { folder: f, source }) => {
            assert_eq!((f, source.raw_os_error()), (folder, Some(libc::ENOENT)));
        }
        other => panic!("{:?}", other.err()),
    }
    assert_eq!(tag.processes(), NONE);
}

#[tokio::test]
async fn a_supervisor_that_is_none_is_an_error_not_a_hang() {
    let tag = Tag::new();
    for supervisor in [vec![], vec!["/none".into()], vec![OsString::from("/bin/true")], vec![OsString::from("/bin/echo")]] {
        let machine = Machine::local(Surroundings {
            home: "/".into(),
            data: "/".into(),
            environment: Environment::default(),
            supervisor: supervisor.clone(),
        });
        let r = machine.spawn(spec(SERVER, &["obeys-eof"], &tag)).await;
        assert!(matches!(r, Err(SpawnError::Supervisor(_))), "{supervisor:?}");
    }
    assert_eq!(tag.processes(), NONE);
}

#[tokio::test]
async fn stderr_is_read_while_nobody_looks() {
    let tag = Tag::new();
    // More than any pipe holds, and then last words.
    let script = "head -c 1000000 /dev/zero >&2; echo >&2; echo one >&2; echo two >&2; printf three >&2; exit 3";
    let server = machine().spawn(spec("/bin/sh", &["-c", script], &tag)).await.unwrap();
    assert_eq!(server.handle.exited().await, Exit::Code(3));
    server.stderr.settled(std::time::Duration::from_secs(10)).await;
    assert_eq!(server.stderr.tail(3), ["one", "two", "three"]);
}
