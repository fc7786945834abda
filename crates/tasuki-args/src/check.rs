//! `tasuki check`.

use super::{RemoteArgs, overwrite::Overwrite};
use clap::Args;
use std::path::PathBuf;

/// Options of `tasuki check`.
#[derive(Debug, Args)]
#[command(after_help = "Stages:
  1  every NIC and cable: who is really at the other end, loss, damage, rate, MTU, interrupt delay, counters,
     bus, host settings
  2  every pair of hosts: round trips and TCP streams, outliers named
  3  random messages among the hosts of each rack, each module, then among all, every byte checked, while
     memory and all cores are busy
  4  parallel programs for a burn-in: HPCC (if it is installed) and NAS kernels (--nas; in a lab IS, CG and EP
     without it)

Examples:
  tasuki check --lab ring                                 # stages 1 and 2
  sudo tasuki check cluster.toml                          # the machines of a file, over ssh as root
  sudo tasuki check cluster.toml --stages 3 --time 24h    # a day and a night of random messages
  tasuki check --lab ring --json --report check.html

Exit codes, as monitoring systems and Slurm's HealthCheckProgram want them: 0 nothing found, 1 warnings only,
2 faults, 3 a host could not be checked. See docs/guide/check.md.")]
pub struct CheckArgs {
    /// Cluster file: all its hosts, over ssh. With --lab: the plan that the lab is held against
    pub cluster: Option<PathBuf>,
    /// The hosts of this lab
    #[arg(long, conflicts_with_all = ["ssh", "remote", "sudo"])]
    pub lab: Option<String>,
    /// Which stages, as 1,2,3
    #[arg(
        long,
        value_delimiter = ',',
        default_values_t = [1, 2],
        value_parser = clap::value_parser!(u8).range(1..=4)
    )]
    pub stages: Vec<u8>,
    /// Time of stage 3, as 90s, 10m, 24h
    #[arg(long, default_value = "30s", value_parser = super::time::duration)]
    pub time: std::time::Duration,
    /// Seed of everything random [default: chosen and told]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Memory that every host writes and reads in stage 3, megabytes
    #[arg(long, default_value_t = 64, value_parser = memory_mb)]
    pub memory_mb: usize,
    /// Errors per hour of a NIC's counters that are tolerated
    #[arg(long, default_value_t = 0.0, value_parser = errors_per_hour, allow_negative_numbers = true)]
    pub errors_per_hour: f64,
    /// Folder with NAS kernels for stage 4, the same on every host: what bench/nas/build.sh of Tasuki's
    /// sources makes
    #[arg(long, value_name = "FOLDER")]
    pub nas: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write a page with all figures
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// How other hosts are reached
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// Memory of 1 MB to 16 TB.
fn memory_mb(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=16_000_000).contains(number));
    number.ok_or_else(|| "write megabytes, from 1 to 16000000".into())
}

/// A number of errors that can be compared with.
fn errors_per_hour(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "write a number of errors, 0 or more".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comparison with NaN never holds, by IEEE 754, so that no count of errors would be too many.
    #[test]
    fn limits_with_which_a_check_finds_nothing_are_refused() {
        assert_eq!((errors_per_hour("0"), errors_per_hour("2.5")), (Ok(0.0), Ok(2.5)));
        assert!(["nan", "inf", "-3", ""].iter().all(|bad| errors_per_hour(bad).is_err()));
        assert_eq!((memory_mb("1"), memory_mb("64")), (Ok(1), Ok(64)));
        assert!(["0", "-1", "18446744073709551615", ""].iter().all(|bad| memory_mb(bad).is_err()));
    }
}
