use std::{
    collections::BTreeMap,
    env,
    os::unix::{fs::MetadataExt, fs::symlink, net::UnixListener},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::{process::geteuid, thread::set_thread_uid};

use super::*;

/// A user that owns nothing.
const NOBODY: u32 = 65532;

fn output(path: &Path, text: &str) -> Output {
    Output { path: path.to_owned(), text: text.to_owned() }
}

/// Every file in the folder with its text.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let text = fs::read_to_string(entry.path()).unwrap_or_else(|_| "(no file)".to_owned());
            (entry.file_name().into_string().unwrap(), text)
        })
        .collect()
}

fn expect(folder: &Path, expected: &[(&str, &str)]) {
    let expected = expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    assert_eq!(files(folder), expected);
}

/// Runs on a thread of its own as a user without rights; only root can.
fn as_nobody<T: Send>(run: impl FnOnce() -> T + Send) -> Option<T> {
    if !geteuid().is_root() {
        eprintln!("SKIPPED: only root can become another user");
        return None;
    }
    let nobody = rustix::process::Uid::from_raw(NOBODY);
    // The kernel's user is a thread's; the rest of the tests stays root.
    let run = || {
        set_thread_uid(nobody).unwrap();
        run()
    };
    Some(thread::scope(|scope| scope.spawn(run).join().unwrap()))
}

#[test]
fn every_output_is_written_and_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let [conf, env] = ["nodeport.conf", "nodeport.env"].map(|name| folder.path().join(name));
    for (first, second) in [("a", "b"), ("longer than before", ""), ("a", "b")] {
        write(&[output(&conf, first), output(&env, second)]).unwrap();
        expect(folder.path(), &[("nodeport.conf", first), ("nodeport.env", second)]);
    }
    write(&[]).unwrap();
}

#[test]
fn everyone_may_read_the_file_whatever_the_umask_and_the_earlier_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodeport.conf");
    fs::write(&path, "earlier").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    write(&[output(&path, "new")]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
    // The umask is the process's: another process has its own.
    let script = "umask 077; exec \"$0\" --exact output::write::tests::writes_what_the_environment_says";
    let mut child = Command::new("sh");
    child.args(["-c", script]).arg(env::current_exe().unwrap());
    assert_eq!(in_child(&mut child, &path), "");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
}

#[test]
fn a_reader_never_sees_half_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodeport.conf");
    let texts = ["a".repeat(100_000), "b".repeat(50_000)];
    write(&[output(&path, &texts[0])]).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for text in texts.iter().cycle().take(100) {
                write(&[output(&path, text)]).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            assert!(texts.contains(&fs::read_to_string(&path).unwrap()), "a mixture, or a part");
        }
    });
}

#[test]
fn what_is_no_place_for_a_file_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("file"), "kept").unwrap();
    symlink("/dev/null", at("device")).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();
    let before = files(folder.path());
    for (path, said) in [
        (at("folder"), "names a folder, not a file in one; add the file's name, as in"),
        (at("none/"), "names a folder"),
        (PathBuf::from("/"), "names a folder"),
        (PathBuf::from(".."), "names a folder"),
        (PathBuf::new(), "names a folder"),
        (at("device"), "no regular file is there"),
        (at("socket"), "no regular file is there"),
        (at("none/nodeport.conf"), "there is no folder"),
        (at("file/nodeport.conf"), "is no folder"),
    ] {
        // The first output is good, and yet nothing is written.
        let error = write(&[output(&at("good"), "text"), output(&path, "text")]).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains(&*path.to_string_lossy()), "{}: {error}", path.display());
        assert_eq!(files(folder.path()), before);
    }
}

#[test]
fn a_symbolic_link_is_replaced_and_its_target_kept() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("target"), "kept").unwrap();
    for (link, target) in [("link", "target"), ("dangling", "none")] {
        symlink(target, folder.path().join(link)).unwrap();
        write(&[output(&folder.path().join(link), "new")]).unwrap();
    }
    expect(folder.path(), &[("target", "kept"), ("link", "new"), ("dangling", "new")]);
}

#[test]
fn a_folder_of_another_user_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("nodeport.conf");
    let Some(error) = as_nobody(|| write(&[output(&path, "text")]).unwrap_err().to_string()) else { return };
    assert!(error.contains("this runs as user 65532 and may not write into"), "{error}");
    assert!(error.contains("(user 0, group 0, mode 0755); mount an emptyDir there, or set"), "{error}");
    expect(folder.path(), &[]);
}

#[test]
fn another_users_file_is_replaced_unless_the_folder_is_sticky() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodeport.conf");
    fs::write(&path, "root's").unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    let Some(error) = as_nobody(|| write(&[output(&path, "new")]).unwrap_err().to_string()) else { return };
    assert!(error.contains("belongs to user 0, this runs as user 65532"), "{error}");
    expect(folder.path(), &[("nodeport.conf", "root's")]);

    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    as_nobody(|| write(&[output(&path, "new")]).unwrap());
    expect(folder.path(), &[("nodeport.conf", "new")]);
}

/// Prepares a mount namespace of its own with `mounts`, where `$1` is the folder, and writes there.
fn in_mounts(mounts: &str, folder: &Path) -> Option<String> {
    let path = folder.join("nodeport.conf");
    let probe = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "none"]).arg(folder).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!("SKIPPED: needs root and unshare for a mount namespace");
        return None;
    }
    let script =
        format!("set -e; {mounts}; exec \"$0\" --exact output::write::tests::writes_what_the_environment_says");
    let mut child = Command::new("unshare");
    child.args(["-m", "sh", "-c", &script]).arg(env::current_exe().unwrap()).arg(folder);
    Some(in_child(&mut child, &path))
}

/// The error that this program, started by `child`, reports of writing to `path`; empty if there is none.
fn in_child(child: &mut Command, path: &Path) -> String {
    let report = tempfile::NamedTempFile::new().unwrap();
    child.env("TEST_WRITE_TO", path).env("TEST_REPORT_TO", report.path());
    let result = child.output().unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let text = fs::read_to_string(report.path()).unwrap();
    text.strip_prefix("ran ").expect("the child did not get to writing").to_owned()
}

/// Not a test of its own: what [`in_child`] starts.
#[test]
fn writes_what_the_environment_says() {
    let (Some(path), Some(report)) = (env::var_os("TEST_WRITE_TO"), env::var_os("TEST_REPORT_TO")) else { return };
    let path = PathBuf::from(path);
    let said = write(&[output(&path, &"x".repeat(64 * 1024))]).err().map(|error| error.to_string()).unwrap_or_default();
    let left = files(path.parent().unwrap()).into_keys().filter(|name| name.ends_with(".tmp")).count();
    assert_eq!(left, 0, "a temporary file is left");
    fs::write(report, format!("ran {said}")).unwrap();
}

#[test]
fn mounts_that_cannot_take_the_file_are_told_apart() {
    for (mounts, said) in [
        ("mount -t tmpfs -o size=8k none \"$1\"", "is full; raise its sizeLimit"),
        ("mount -t tmpfs -o ro none \"$1\"", "is read-only; mount an emptyDir there"),
        (
            "mount -t tmpfs none \"$1\"; touch \"$1/nodeport.conf\"; mount --bind \"$1/nodeport.conf\" \
             \"$1/nodeport.conf\"",
            "the file itself is a mount",
        ),
        ("mount -t tmpfs -o size=1m none \"$1\"", ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let Some(error) = in_mounts(mounts, folder.path()) else { return };
        assert!(error.contains(said) && error.is_empty() == said.is_empty(), "{mounts}: {error:?}");
    }
}
