//! A raw peer as a process: `raw-peer '{"role": "serve", ...}'`. Prints its results as JSON.

use std::process::ExitCode;

fn main() -> ExitCode {
    let specification = std::env::args().nth(1).unwrap_or_default();
    match tasuki_bench::raw::peer(&specification) {
        Ok(result) => {
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
