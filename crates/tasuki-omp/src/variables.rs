//! Variables of the environment that OpenMP names.

/// Threads of each process: `OMP_NUM_THREADS`, or one.
pub fn threads() -> Result<u32, String> {
    let Ok(text) = std::env::var("OMP_NUM_THREADS") else { return Ok(1) };
    let first = text.split(',').next().unwrap_or_default().trim();
    let number = first.parse().ok().filter(|number| (1..=256).contains(number));
    number
        .ok_or_else(|| format!("OMP_NUM_THREADS={text}: the threads of each process, 1 to 256, are expected"))
}

/// `OMP_SCHEDULE`: kind, as in `omp_sched_t`, and chunk.
pub fn schedule() -> Result<(u32, i64), String> {
    let Ok(text) = std::env::var("OMP_SCHEDULE") else { return Ok((1, 0)) };
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
