//! What the kernel says of NICs and their buses, by sysfs and ethtool.

use crate::protocol::NicFacts;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tasuki_sys::ethtool::Ethtool;

/// Where sysfs is mounted.
pub const SYSFS: &str = "/sys";
/// Error counters of `class/net/NIC/statistics` (Documentation/networking/statistics.rst).
const COUNTERS: [&str; 9] = [
    "rx_errors",
    "tx_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_length_errors",
    "rx_missed_errors",
    "rx_fifo_errors",
    "tx_carrier_errors",
    "collisions",
];

fn text(path: PathBuf) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// For how long a NIC is set to hold received frames back, microseconds (`ethtool -c`, `rx-usecs`). `None`:
/// it has no such setting, or its driver chooses that by itself, from moment to moment.
pub fn set_delay_us(name: &str) -> Option<u64> {
    let set = Ethtool::open(name).and_then(|ethtool| ethtool.coalescing()).ok()?;
    (!set.adaptive_rx).then_some(set.rx_usecs.into())
}

/// A NIC by its files (Documentation/ABI/testing/sysfs-class-net). `delay_us` is what `ethtool -c` reports,
/// if anything.
pub fn nic(sysfs: &Path, index: usize, name: &str, delay_us: Option<u64>) -> NicFacts {
    let folder = sysfs.join("class/net").join(name);
    let number = |file: &str| text(folder.join(file)).and_then(|text| text.parse::<i64>().ok());
    let mut nic = NicFacts { index, exists: folder.exists(), ..NicFacts::default() };
    // The file cannot be read while the interface is down; -1 means that the speed is unknown.
    nic.speed_mbits = number("speed").and_then(|speed| u64::try_from(speed).ok()).filter(|speed| *speed > 0);
    nic.duplex = text(folder.join("duplex")).filter(|duplex| duplex != "unknown");
    let flush_ns = number("gro_flush_timeout").filter(|_| number("napi_defer_hard_irqs").unwrap_or(0) > 0);
    let held_us = flush_ns.map(|ns| ns.unsigned_abs() / 1000);
    nic.delay_us = held_us.max(delay_us);
    let counter = |name: &&str| {
        let value = number(&format!("statistics/{name}"))?.unsigned_abs();
        (value > 0).then(|| ((*name).to_owned(), value))
    };
    nic.errors = COUNTERS.iter().filter_map(counter).collect();
    nic
}

/// PCIe slots of NICs: slot, Mbit/s of its bus as it runs, NICs. A card with several ports has one function
/// for each on one bus. A device that is not on a PCIe bus (PCI, USB, virtual functions) has no width there,
/// or none that means anything.
pub fn buses(sysfs: &Path, nics: &[(usize, String)]) -> Vec<(String, u64, Vec<String>)> {
    let mut buses: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    for (_, name) in nics {
        let folder = sysfs.join("class/net").join(name).join("device");
        let speed = text(folder.join("current_link_speed")).unwrap_or_default();
        let width = text(folder.join("current_link_width")).and_then(|width| width.parse::<u64>().ok());
        let transfers: Option<f64> = speed.split_whitespace().next().and_then(|speed| speed.parse().ok());
        let (Some(width), Some(transfers), Ok(device)) = (width, transfers, folder.canonicalize()) else {
            continue;
        };
        // The link is asleep, or belongs to another function.
        if width == 0 || transfers <= 0.0 {
            continue;
        }
        let device = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let slot = device.split('.').next().unwrap_or_default().to_owned();
        // Generations 1 and 2 of PCIe spend a fifth on coding, later ones 2 of 130 bits.
        let coding = if transfers <= 5.0 { 0.8 } else { 128.0 / 130.0 };
        let entry = buses.entry(slot).or_default();
        entry.0 = (transfers * 1000.0 * coding) as u64 * width;
        entry.1.push(name.clone());
    }
    buses.into_iter().map(|(slot, (rate, nics))| (slot, rate, nics)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Files and their contents.
    type Files<'a> = &'a [(&'a str, &'a str)];

    /// A tree like that of sysfs: the device's folder below its bus, `class/net/NIC` as a link to it,
    /// `device` as a link back.
    fn tree(nics: &[(&str, &str, Files, Files)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let class = root.path().join("class/net");
        fs::create_dir_all(&class).unwrap();
        for (name, device, of_nic, of_device) in nics {
            let bus = root.path().join("devices/pci0000:00/0000:00:1c.0").join(device);
            let net = bus.join("net").join(name);
            fs::create_dir_all(net.join("statistics")).unwrap();
            symlink("../..", net.join("device")).unwrap();
            symlink(&net, class.join(name)).unwrap();
            for (folder, files) in [(&net, of_nic), (&bus, of_device)] {
                files
                    .iter()
                    .for_each(|(file, text)| fs::write(folder.join(file), format!("{text}\n")).unwrap());
            }
        }
        root
    }

    fn all(names: &[&str]) -> Vec<(usize, String)> {
        names.iter().map(|name| (*name).to_owned()).enumerate().collect()
    }

    #[test]
    fn a_nic_that_is_up() {
        let files = [
            ("speed", "1000"),
            ("duplex", "full"),
            ("gro_flush_timeout", "20000"),
            ("napi_defer_hard_irqs", "2"),
            ("statistics/rx_crc_errors", "17"),
            ("statistics/rx_missed_errors", "0"),
            ("statistics/rx_packets", "1000"),
        ];
        let sysfs = tree(&[("enp3s0", "0000:03:00.0", &files, &[])]);
        let nic = nic(sysfs.path(), 4, "enp3s0", Some(3));
        assert_eq!((nic.index, nic.exists), (4, true));
        assert_eq!((nic.speed_mbits, nic.duplex.as_deref()), (Some(1000), Some("full")));
        assert_eq!(nic.delay_us, Some(20), "the longer of the two");
        assert_eq!(nic.errors, [("rx_crc_errors".to_owned(), 17)]);
    }

    #[test]
    fn a_nic_without_a_link_says_nothing() {
        // Without a carrier most drivers report -1 and unknown; while the interface is down the files cannot
        // be read at all.
        let files = [
            ("speed", "-1"),
            ("duplex", "unknown"),
            ("gro_flush_timeout", "20000"),
            ("napi_defer_hard_irqs", "0"),
        ];
        let sysfs = tree(&[("enp3s0", "0000:03:00.0", &files, &[]), ("down", "0000:04:00.0", &[], &[])]);
        for name in ["enp3s0", "down"] {
            let nic = nic(sysfs.path(), 0, name, None);
            assert!(nic.exists && nic.errors.is_empty());
            assert_eq!((nic.speed_mbits, nic.duplex, nic.delay_us), (None, None, None), "{name}");
        }
        assert!(!nic(sysfs.path(), 0, "gone", None).exists);
    }

    #[test]
    fn what_a_bus_carries() {
        // Documentation/ABI/testing/sysfs-bus-pci: current_link_speed, current_link_width. PCI Express Base
        // Specification: at 2.5 and 5 GT/s 8 of 10 bits are data, at 8 GT/s and more 128 of 130.
        let two =
            [("current_link_speed", "5.0 GT/s PCIe"), ("current_link_width", "4"), ("max_link_width", "4")];
        let one =
            [("current_link_speed", "2.5 GT/s PCIe"), ("current_link_width", "1"), ("max_link_width", "4")];
        let three = [("current_link_speed", "8.0 GT/s PCIe"), ("current_link_width", "8")];
        let sysfs = tree(&[
            ("enp1s0f0", "0000:01:00.0", &[], &two),
            ("enp1s0f1", "0000:01:00.1", &[], &two),
            ("enp2s0", "0000:02:00.0", &[], &one),
            ("enp3s0", "0000:03:00.0", &[], &three),
        ]);
        let names = ["enp1s0f0", "enp1s0f1", "enp2s0", "enp3s0"];
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            buses(sysfs.path(), &all(&names)),
            [
                ("0000:01:00".to_owned(), 16_000, owned(&names[..2])),
                ("0000:02:00".to_owned(), 2_000, owned(&names[2..3])),
                ("0000:03:00".to_owned(), 63_008, owned(&names[3..])),
            ]
        );
    }

    #[test]
    fn what_is_on_no_bus_is_left_out() {
        // PCI and USB devices have no such files. A virtual function has them, but its link is that of the
        // physical function.
        let virtual_function = [("current_link_speed", "Unknown"), ("current_link_width", "0")];
        let asleep = [("current_link_speed", "2.5 GT/s PCIe"), ("current_link_width", "0")];
        let sysfs = tree(&[
            ("pci", "0000:05:00.0", &[], &[]),
            ("vf", "0000:06:10.0", &[], &virtual_function),
            ("asleep", "0000:07:00.0", &[], &asleep),
        ]);
        assert_eq!(buses(sysfs.path(), &all(&["pci", "vf", "asleep", "gone"])), []);
    }
}
