//! The receive-interrupt delay of a NIC: its possible values, and the means by which it is set. Pure, so that
//! the meaning that drivers give to numbers can be tested without them.

use crate::{CoalescingValue, NapiDelayValue};
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf};
use tasuki_cluster::Delay;

/// The means by which a delay is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// The NIC's own timer, through its driver: `ethtool -C`, `rx-usecs`.
    Ethtool,
    /// The kernel: it leaves the interrupt off after a poll and polls again by a timer (`gro_flush_timeout`
    /// and `napi_defer_hard_irqs`).
    Napi,
    /// `InterruptThrottleRate`, a parameter that Intel's older drivers read when they are loaded.
    Module,
}

/// One means, for one NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeansLook {
    /// The means.
    pub means: Means,
    /// The delay that it sets now; `None`: that is not known, or it sets none.
    pub delay: Option<Delay>,
    /// The settings themselves, for people.
    pub setting: String,
    /// Why it cannot be used; `None`: it can.
    pub obstacle: Option<String>,
}

/// A NIC's interrupt delay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayLook {
    /// The NIC.
    pub interface: String,
    /// Its driver.
    pub driver: String,
    /// All means, the best first.
    pub means: Vec<MeansLook>,
}

impl DelayLook {
    /// The means that is used if the user does not ask for another.
    pub fn best(&self) -> Option<&MeansLook> {
        self.means.iter().find(|look| look.obstacle.is_none() && look.means != Means::Module)
    }
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}",
            match self {
                Means::Ethtool => "ethtool",
                Means::Napi => "napi",
                Means::Module => "module",
            }
        )
    }
}

/// Whether a driver is one of Intel's in which the values 1 to 4 of `rx-usecs` name ways to adapt, and times
/// go from 10 to 10,000 (`e1000_set_coalesce`, `igb_set_coalesce`, ...).
pub fn numbers_its_modes(driver: &str) -> bool {
    matches!(driver, "e1000" | "e1000e" | "igb" | "igc")
}

/// Whether a driver has the parameter `InterruptThrottleRate`.
pub fn has_module_parameter(driver: &str) -> bool {
    matches!(driver, "e1000" | "e1000e")
}

/// The delay that a driver's setting stands for.
pub fn of_coalescing(driver: &str, value: CoalescingValue) -> Delay {
    match value.rx_usecs {
        _ if value.adaptive_rx => Delay::Adaptive,
        0 => Delay::Off,
        1..=4 if numbers_its_modes(driver) => Delay::Adaptive,
        us => Delay::Fixed(us),
    }
}

/// The setting of a driver for a delay; the error says why there is none.
pub fn to_coalescing(driver: &str, now: CoalescingValue, wanted: Delay) -> Result<CoalescingValue, String> {
    let plain = |rx_usecs| CoalescingValue { rx_usecs, adaptive_rx: false, ..now };
    let modes = numbers_its_modes(driver);
    Ok(match wanted {
        Delay::Off => plain(0),
        Delay::Fixed(us @ (1..10 | 10_001..)) if modes => {
            return Err(format!("{driver} takes delays from 10us to 10ms, not {us}us"));
        }
        Delay::Fixed(us) => plain(us),
        // "Dynamic conservative", the driver's default.
        Delay::Adaptive if modes => plain(3),
        Delay::Adaptive => CoalescingValue { adaptive_rx: true, ..now },
    })
}

/// The delay that the kernel's settings stand for.
pub fn of_napi(value: &NapiDelayValue) -> Delay {
    match (value.flush_ns, value.defer_irqs) {
        (0, _) | (_, 0) => Delay::Off,
        (ns, _) => Delay::Fixed(u32::try_from(ns / 1000).unwrap_or(u32::MAX).max(1)),
    }
}

/// The kernel's settings for a delay; the error says why there are none.
pub fn to_napi(wanted: Delay) -> Result<NapiDelayValue, String> {
    // One poll in vain is allowed: after a pause as long as the delay, the next frame interrupts at once, as
    // with a NIC's own timer.
    let value = |flush_ns, defer_irqs| NapiDelayValue { flush_ns, defer_irqs, instances: Vec::new() };
    match wanted {
        Delay::Off => Ok(value(0, 0)),
        Delay::Fixed(us) => Ok(value(u64::from(us) * 1000, 1)),
        Delay::Adaptive => {
            Err("the kernel's own delay does not adapt by itself (`tasuki tune run` does)".into())
        }
    }
}

/// The file that gives a driver its parameter when it is loaded next (modprobe.d(5)), and the file's text for
/// this number of NICs.
pub fn module_file(driver: &str, wanted: Delay, nics: usize) -> (PathBuf, String) {
    // Interrupts per second, from 100 to 100,000; 0: no limit; 3: dynamic conservative, the default.
    let rate = match wanted {
        Delay::Off => 0,
        Delay::Fixed(us) => (1_000_000 / us.max(1)).clamp(100, 100_000),
        Delay::Adaptive => 3,
    };
    let rates = vec![rate.to_string(); nics.max(1)].join(",");
    let path = PathBuf::from(format!("/etc/modprobe.d/tasuki-tune-{driver}.conf"));
    (
        path,
        format!(
            "# tasuki tune; `tasuki tune undo` takes it away\noptions {driver} \
             InterruptThrottleRate={rates}\n"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: CoalescingValue = CoalescingValue { rx_usecs: 3, rx_frames: 0, adaptive_rx: false };

    /// The rules of drivers/net/ethernet/intel/e1000/e1000_ethtool.c, `e1000_set_coalesce`.
    #[test]
    fn intels_small_numbers_are_modes_and_not_times() {
        for rx_usecs in [1, 3, 4] {
            assert_eq!(of_coalescing("e1000", CoalescingValue { rx_usecs, ..NOW }), Delay::Adaptive);
            assert_eq!(of_coalescing("tg3", CoalescingValue { rx_usecs, ..NOW }), Delay::Fixed(rx_usecs));
        }
        for us in [1, 4, 9, 10_001] {
            assert!(to_coalescing("e1000e", NOW, Delay::Fixed(us)).is_err());
            assert_eq!(to_coalescing("tg3", NOW, Delay::Fixed(us)).unwrap().rx_usecs, us);
        }
        assert_eq!(to_coalescing("igb", NOW, Delay::Adaptive), Ok(NOW));
        assert_eq!(to_coalescing("igb", NOW, Delay::Off).unwrap().rx_usecs, 0);
    }

    #[test]
    fn a_fixed_delay_turns_adapting_off_and_keeps_the_frames() {
        let now = CoalescingValue { rx_usecs: 8, rx_frames: 128, adaptive_rx: true };
        assert_eq!(of_coalescing("mlx5_core", now), Delay::Adaptive);
        let set = to_coalescing("mlx5_core", now, Delay::Fixed(30)).unwrap();
        assert_eq!(set, CoalescingValue { rx_usecs: 30, rx_frames: 128, adaptive_rx: false });
        assert!(to_coalescing("mlx5_core", set, Delay::Adaptive).unwrap().adaptive_rx);
    }

    #[test]
    fn the_kernel_needs_both_of_its_settings() {
        let set = to_napi(Delay::Fixed(20)).unwrap();
        assert_eq!((set.flush_ns, set.defer_irqs), (20_000, 1));
        assert_eq!(of_napi(&set), Delay::Fixed(20));
        assert_eq!(of_napi(&NapiDelayValue { defer_irqs: 0, ..set }), Delay::Off);
        assert!(to_napi(Delay::Adaptive).is_err());
    }

    /// InterruptThrottleRate of Documentation/networking/device_drivers/ethernet/intel/e1000.rst.
    #[test]
    fn a_modules_parameter_is_a_rate_for_each_of_its_nics() {
        let (path, text) = module_file("e1000", Delay::Fixed(125), 2);
        assert_eq!(path.to_str(), Some("/etc/modprobe.d/tasuki-tune-e1000.conf"));
        assert!(text.ends_with("options e1000 InterruptThrottleRate=8000,8000\n"), "{text}");
        assert!(module_file("e1000", Delay::Off, 1).1.ends_with("=0\n"));
        assert!(module_file("e1000", Delay::Fixed(1), 1).1.ends_with("=100000\n"));
    }
}
