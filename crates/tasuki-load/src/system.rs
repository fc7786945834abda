//! Processors, memory and temperature of this host.

use crate::sample::{Memory, Processors};
use procfs::{Current, CurrentSI, KernelStats, LoadAverage, Meminfo};
use std::{fs, path::Path};

/// The processors; the error says why they are unknown.
pub fn processors() -> Result<Processors, String> {
    let stats = KernelStats::current().map_err(|error| error.to_string())?;
    let load = LoadAverage::current().map_err(|error| error.to_string())?.one;
    // The kernel writes two digits behind the point.
    let load = (f64::from(load) * 100.0).round() / 100.0;
    let total = &stats.total;
    // Time of guests is part of user time (account_guest_time in kernel/sched/cputime.c).
    let busy = [total.user, total.nice, total.system];
    let more = [total.irq, total.softirq, total.steal].map(Option::unwrap_or_default);
    let busy_ticks: u64 = busy.iter().chain(&more).sum();
    let all_ticks = busy_ticks + total.idle + total.iowait.unwrap_or_default();
    let count = u32::try_from(stats.cpu_time.len()).unwrap_or(u32::MAX);
    Ok(Processors { count, busy_ticks, all_ticks, load })
}

/// The memory; the error says why it is unknown.
pub fn memory() -> Result<Memory, String> {
    let info = Meminfo::current().map_err(|error| error.to_string())?;
    Ok(Memory { total: info.mem_total, available: info.mem_available.unwrap_or(info.mem_free) })
}

/// Temperature of the hottest sensor, degrees Celsius.
pub fn hottest() -> Option<f32> {
    hottest_in(Path::new("/sys/class/hwmon")).or_else(|| hottest_in(Path::new("/sys/class/thermal")))
}

/// The highest of `*/temp*_input` (hwmon) or `*/temp` (thermal zones) below a folder, which are thousandths
/// of a degree (Documentation/hwmon/sysfs-interface.rst, Documentation/driver-api/thermal/sysfs-api.rst).
fn hottest_in(folder: &Path) -> Option<f32> {
    let is_sensor = |name: &str| name == "temp" || (name.starts_with("temp") && name.ends_with("_input"));
    let devices = fs::read_dir(folder).ok()?.flatten();
    let files = devices.filter_map(|device| fs::read_dir(device.path()).ok()).flatten().flatten();
    let sensors = files.filter(|file| file.file_name().to_str().is_some_and(is_sensor));
    let values = sensors.filter_map(|file| fs::read_to_string(file.path()).ok()?.trim().parse::<i32>().ok());
    // Sensors that are not connected say 0 or less, or more than any processor bears.
    values.filter(|value| (1..150_000).contains(value)).max().map(|value| value as f32 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_sensor_counts_and_those_that_are_not_connected_do_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |device: &str, file: &str, text: &str| {
            fs::create_dir_all(folder.path().join(device)).expect("a folder");
            fs::write(folder.path().join(device).join(file), text).expect("writes");
        };
        assert_eq!(hottest_in(folder.path()), None);
        write("hwmon0", "temp1_input", "41500\n");
        write("hwmon0", "temp1_crit", "99000\n");
        write("hwmon1", "temp2_input", "-128000\n");
        write("hwmon1", "temp3_input", "255000\n");
        assert_eq!(hottest_in(folder.path()), Some(41.5));
        write("zone", "temp", "52000\n");
        assert_eq!(hottest_in(folder.path()), Some(52.0));
    }
}
