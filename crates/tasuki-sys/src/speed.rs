//! The rate of a NIC.

use std::{fs, path::Path};

/// The negotiated rate of a NIC in Mbit/s, by its folder below `/sys/class/net`. The file cannot be read
/// while the interface is down, and holds -1 if the rate is unknown
/// (Documentation/ABI/testing/sysfs-class-net). What a virtual interface says is not the rate of any cable,
/// as of a lab's NICs, and is not taken.
pub fn negotiated_mbits(folder: &Path) -> Option<u64> {
    let text = fs::read_to_string(folder.join("speed")).ok().filter(|_| folder.join("device").exists())?;
    text.trim().parse().ok().filter(|rate| *rate > 0 && *rate < u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_device_is_what_its_driver_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let says = |text: &str| {
            fs::write(folder.path().join("speed"), text).expect("writes");
            negotiated_mbits(folder.path())
        };
        assert_eq!(says("2500\n"), None, "it is no device");
        fs::create_dir(folder.path().join("device")).expect("a folder");
        assert_eq!(says("2500\n"), Some(2_500));
        assert_eq!(says("-1\n"), None);
    }
}
