//! Variables of the environment that OpenMP names.

use crate::plan::Schedule;

/// Threads of each process: `OMP_NUM_THREADS`, or one.
pub fn threads() -> Result<u32, String> {
    let Ok(text) = std::env::var("OMP_NUM_THREADS") else { return Ok(1) };
    let first = text.split(',').next().unwrap_or_default().trim();
    let number = first.parse().ok().filter(|number| (1..=256).contains(number));
    number
        .ok_or_else(|| format!("OMP_NUM_THREADS={text}: the threads of each process, 1 to 256, are expected"))
}

/// Bytes of a stack where the user sets no limit.
const UNLIMITED: usize = 256 << 20;

/// Bytes that a thread's stack is to have: the larger one of `OMP_STACKSIZE` and what the user may have for
/// the first thread (`ulimit -s`), as all have the same here.
pub fn stack_bytes() -> Result<usize, String> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes to the place that it is given.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } == 0;
    let first = match limit.rlim_cur {
        libc::RLIM_INFINITY => UNLIMITED,
        bytes if known => bytes as usize,
        _ => 0,
    };
    let Ok(text) = std::env::var("OMP_STACKSIZE") else { return Ok(first) };
    let wrong =
        || format!("OMP_STACKSIZE={text}: a number of kilobytes, or one with B, K, M or G, is expected");
    let plain = text.trim().to_ascii_uppercase();
    let number = plain.trim_end_matches(['B', 'K', 'M', 'G']).trim_end();
    let unit = match plain[number.len()..].trim_start() {
        "B" => 1,
        "" | "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(wrong()),
    };
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(wrong)?;
    Ok(bytes.max(first))
}

/// The value of a variable for the host: its own one, or that for all devices (OpenMP 5.2, 2.2).
fn of_host(name: &str) -> Option<String> {
    std::env::var(name).or_else(|_| std::env::var(format!("{name}_ALL"))).ok()
}

/// A number of something, if it is given.
fn count(name: &str, what: &str) -> Result<Option<u32>, String> {
    let Some(text) = of_host(name) else { return Ok(None) };
    let number = text.trim().parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{name}={text}: a number of {what}, at least 1, is expected")).map(Some)
}

/// `OMP_THREAD_LIMIT`: threads that a region has at most.
pub fn limit() -> Result<u32, String> {
    Ok(count("OMP_THREAD_LIMIT", "threads")?.unwrap_or(u32::MAX))
}

/// `OMP_NUM_TEAMS` and `OMP_TEAMS_THREAD_LIMIT`: teams of a league, and threads that a region of one has at
/// most; 0: not given.
pub fn of_teams() -> Result<(u32, u32), String> {
    let number = |name: &str, what: &str| count(name, what).map(|number| number.unwrap_or(0));
    Ok((number("OMP_NUM_TEAMS", "teams")?, number("OMP_TEAMS_THREAD_LIMIT", "threads")?))
}

/// `OMP_SCHEDULE`.
pub fn schedule() -> Result<Schedule, String> {
    let Some(text) = of_host("OMP_SCHEDULE") else { return Ok((1, 0)) };
    let wrong = || format!("OMP_SCHEDULE={text}: static, dynamic, guided or auto is expected, and a chunk");
    let plain = text.rsplit(':').next().unwrap_or_default();
    let (kind, chunk) = plain.split_once(',').map_or((plain, None), |(kind, chunk)| (kind, Some(chunk)));
    let kind = match kind.trim().to_ascii_lowercase().as_str() {
        "static" | "auto" => 1,
        "dynamic" => 2,
        "guided" => 3,
        _ => return Err(wrong()),
    };
    let chunk = chunk.map_or(Ok(0), |chunk| chunk.trim().parse()).map_err(|_| wrong())?;
    Ok((kind, chunk))
}
