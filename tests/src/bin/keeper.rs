//! Owns the processes of a test process, and ends them when that process goes. Started by the harness.

fn main() -> std::io::Result<()> {
    cluster_tests::harness::keeper::server::serve()
}
