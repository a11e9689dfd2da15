//! The creator as another user than root, whose files are those of its image and its volumes.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use cluster_tests::harness::{Run, cargo};

/// The user of the usual distroless images.
pub(crate) const USER: u32 = 65532;

/// Becomes the user; program and credentials are copied to where only the run sees them, since the folders that lead to
/// them are root's. $1: the program; then its arguments.
const AS_USER: &str = r#"
run=$(readlink -f /var/run)
mount -t tmpfs tmpfs "$run"
cp "$1" "$run/creator"
cp "$KUBECONFIG" "$run/kubeconfig"
chmod 0755 "$run" "$run/creator"
chmod 0644 "$run/kubeconfig" "$(dirname "$KUBECONFIG")/token"
shift
KUBECONFIG=$run/kubeconfig exec setpriv --reuid 65532 --regid 65532 --clear-groups "$run/creator" "$@"
"#;

/// Has the creator run as [`USER`], who may look into the run's folder and write into none of it. Needs root.
pub(crate) fn as_other_user(run: Run) -> Run {
    let message = run.path("termination-log");
    let files = Path::new(&message).parent().unwrap();
    for folder in files.ancestors().take(3) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(&message, fs::Permissions::from_mode(0o666)).unwrap();
    let creator = cargo::creator().display().to_string();
    run.program("/usr/bin/unshare").args(["--mount", "sh", "-euc", AS_USER, "sh", &creator])
}
