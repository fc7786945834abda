//! `tasuki omp`.

use super::sharing::SharingArgs;
use clap::Args;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

/// Options of `tasuki omp`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gcc -O2 -fopenmp heat.c -o heat
  tasuki omp -n 4 ./heat                # threads on four slots, as on one machine with four processors
  tasuki omp -n 2 --threads 8 ./heat    # eight threads on each of two hosts
  tasuki omp -n 4 --copy --cluster cluster.toml ./heat   # hosts need not have the program
  tasuki omp -n 4 --profile ./heat      # and at the end where its time went, and what would help

The program is started once; its parallel regions run on all hosts, whose memory is one. It must be linked
dynamically, by gcc or clang, and be the same on all hosts, as must its libraries. A page of 4096 bytes that
one host writes is fetched by the others when they next use it, in about 0.1 ms: what is fast divides its
arrays into parts that threads keep. Output and files are those of the first process.")]
pub struct OmpArgs {
    /// Number of processes, each on a slot; hosts take one each in turn
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub processes: u32,
    /// Threads of each process
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
    /// Say at the end which lines, arrays and regions waited for other hosts, why, and what would help; build
    /// the program with -g as well. FILE gets all of it, as a page (.html) or for programs (.json), at the
    /// first process's host
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-",
        value_parser = profile_file)]
    pub profile: Option<PathBuf>,
    /// Also run a program that calls what cannot work on several hosts: threads of its own, or fork
    #[arg(long)]
    pub unchecked: bool,
    /// Send the program, and libraries of it that hosts lack, to all hosts over the rails. It runs in a
    /// folder made for the job, which is removed when it ends
    #[arg(long)]
    pub copy: bool,
    /// With --copy: files and folders that are sent too. They lie in the working folder of the program, by
    /// the names that they have here
    #[arg(long, value_name = "PATH", value_delimiter = ',', requires = "copy")]
    pub files: Vec<PathBuf>,
    /// With --copy: the hosts' cluster file, by which they are reached over ssh
    #[arg(long, requires = "copy", conflicts_with = "lab")]
    pub cluster: Option<PathBuf>,
    /// Run in this lab, which has the runtime; none: the only one that is up
    #[arg(long)]
    pub lab: Option<String>,
    /// Begin every line with the rank of the process that wrote it
    #[arg(long)]
    pub label: bool,
    /// End the job when it has run so long: 90s, 10m, 24h
    #[arg(long, value_name = "DURATION", value_parser = super::time::duration)]
    pub timeout: Option<Duration>,
    /// Pass a variable to all processes: NAME, or NAME=VALUE
    #[arg(short = 'x', long)]
    pub export: Vec<String>,
    /// How the job gets on with others.
    #[command(flatten)]
    pub sharing: SharingArgs,
    /// Program and arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub program: Vec<OsString>,
}

/// A file of a kind that a profile can be written as, or `-`.
fn profile_file(text: &str) -> Result<PathBuf, String> {
    let is_known =
        ["html", "json"].iter().any(|kind| Path::new(text).extension().is_some_and(|end| end == *kind));
    if text == "-" || is_known {
        return Ok(text.into());
    }
    Err("the name must end in .html or .json".to_owned())
}

#[cfg(test)]
mod tests {
    use super::profile_file;

    #[test]
    fn profiles_are_pages_or_json() {
        for good in ["-", "a.html", "/tmp/a b.json"] {
            assert_eq!(profile_file(good), Ok(good.into()));
        }
        for bad in ["", "html", "a.txt", "./heat"] {
            assert!(profile_file(bad).unwrap_err().contains(".html or .json"));
        }
    }
}
