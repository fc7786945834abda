//! Random names and keys of jobs.

use crate::RunError;

/// 16 random bytes as hexadecimal digits: what nobody can guess.
pub fn digits() -> Result<String, getrandom::Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    Ok(format!("{:032x}", u128::from_be_bytes(random)))
}

/// A name for a job that an MPI's own launcher starts, which no other job of the cluster is likely to have:
/// `run-7f3a90c1`.
///
/// # Errors
/// If the kernel gives no random numbers.
pub fn run_name() -> Result<String, RunError> {
    Ok(format!("run-{}", &digits()?[..8]))
}
