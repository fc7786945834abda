//! What `tasuki tune run` says of itself: here, because the watch is whom it asks to leave NICs out of a striped bundle.

use crate::{Said, WatchError};
use serde::{Deserialize, Serialize};
use std::{fs, io::ErrorKind};

/// What a cluster file has `tasuki tune run` do on a host. `tasuki apply` writes it there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunePlan {
    /// NICs, all with the same delay.
    pub nics: Vec<String>,
    /// The shortest delay, microseconds; 0: off.
    pub least_us: u32,
    /// The longest.
    pub most_us: u32,
}

impl TunePlan {
    /// Where it is on a host.
    pub const PATH: &str = "/run/tasuki-tune-plan.json";

    /// This host's; `None`: no delay follows the load.
    pub fn load() -> Result<Option<Self>, WatchError> {
        let fail = |source| WatchError::File { doing: "read", path: Self::PATH.into(), source };
        match fs::read_to_string(Self::PATH) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| fail(error.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fail(error)),
        }
    }

    /// As it is written.
    pub fn to_json(&self) -> String {
        // Strings and numbers: nothing that JSON could not hold.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// A NIC that it tunes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedNic {
    /// Its name.
    pub interface: String,
    /// By what its delay is set.
    pub means: String,
}

/// A running `tasuki tune run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TunerNote {
    /// Its process.
    pub pid: i32,
    /// The host's name.
    pub host: String,
    /// What it tunes.
    pub nics: Vec<TunedNic>,
    /// The delay that it holds for best, microseconds; 0: off.
    pub best_us: u32,
    /// How often that has changed since it began.
    pub changes: u64,
    /// Packets and interrupts per second, and the processors' use (0 to 1), when it was last written.
    pub packets: f64,
    /// Interrupts per second.
    pub interrupts: f64,
    /// Use of the processors, 0 to 1.
    pub busy: f64,
    /// NICs that it has taken out of the bundle.
    pub resting: Vec<String>,
    /// The plan that it follows; `None`: somebody has started it by hand.
    #[serde(default)]
    pub plan: Option<TunePlan>,
}

impl Said for TunerNote {
    const NAME: &'static str = "tasuki tune run";
    const FILE: &'static str = "/run/tasuki-tune.json";

    fn who(&self) -> (i32, &str) {
        (self.pid, &self.host)
    }
}
