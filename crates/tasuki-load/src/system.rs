//! Processors, memory and temperature of this host.

use crate::sample::{Memory, Processors};
use nix::unistd::{SysconfVar, sysconf};
use procfs::{Current, LoadAverage, Meminfo};
use std::{fs, path::Path};
use tasuki_sys::ticks::Ticks;

/// The processors; the error says why they are unknown.
pub fn processors() -> Result<Processors, String> {
    let ticks = Ticks::now(None).map_err(|error| error.to_string())?.ok_or("/proc/stat names none")?;
    let count = sysconf(SysconfVar::_NPROCESSORS_ONLN).map_err(|error| error.to_string())?;
    let load = LoadAverage::current().map_err(|error| error.to_string())?.one;
    Ok(Processors {
        count: count.and_then(|count| u32::try_from(count).ok()).unwrap_or_default(),
        busy_ns: ticks.all.saturating_sub(ticks.idle).saturating_mul(tick_ns()),
        all_ns: ticks.all.saturating_mul(tick_ns()),
        // The kernel writes two digits behind the point.
        load: (f64::from(load) * 100.0).round() / 100.0,
    })
}

/// Length of a tick of `USER_HZ`, in which the kernel counts processor time, nanoseconds.
pub fn tick_ns() -> u64 {
    1_000_000_000 / procfs::ticks_per_second().max(1)
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
