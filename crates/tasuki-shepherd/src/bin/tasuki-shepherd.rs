//! The shepherd process, for tests. The daemon is its own shepherd, by a hidden subcommand.

fn main() -> std::process::ExitCode {
    tasuki_shepherd::process_main()
}
