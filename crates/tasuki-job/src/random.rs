//! Random names and keys of jobs.

/// 16 random bytes as hexadecimal digits: what nobody can guess.
pub fn digits() -> Result<String, getrandom::Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    Ok(format!("{:032x}", u128::from_be_bytes(random)))
}
