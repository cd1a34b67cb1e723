//! A disk without room: the write fails with the system's words, and the file is as it was. Alone in its program,
//! because the limit that stands in for the disk holds for the whole process.
#![cfg(unix)]

use mework_engine::machine::environment::Environment;
use mework_engine::machine::{Machine, Surroundings, WriteError};

/// No file of this process may grow past `bytes`; instead of the signal that would end it, writing fails.
fn limit_files(bytes: libc::rlim_t) {
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let mut limit = std::mem::zeroed::<libc::rlimit>();
        assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit), 0);
        limit.rlim_cur = bytes.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_b17() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    std::fs::write(&file, b"old").unwrap();
    let machine = Machine::local(Surroundings {
        home: folder.path().into(),
        data: folder.path().into(),
        environment: Environment::default(),
        supervisor: vec![],
    });
    let new = vec![b'x'; 100_000];
    limit_files(4096);
    let existing = machine.write(&file, Some(b"old"), &new, None).await;
    let fresh = machine.write(&folder.path().join("fresh.json"), None, &new, None).await;
    limit_files(libc::RLIM_INFINITY);
    for result in [existing, fresh] {
        assert!(
            matches!(&result, Err(WriteError::Io { source, .. }) if source.raw_os_error() == Some(libc::EFBIG)),
            "{result:?}"
        );
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"old");
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["mcp.json"], "no half-written file stays behind");
    machine.write(&file, Some(b"old"), &new, None).await.unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), new);
}
