//! The notes of `tasuki tune run`. They are in this crate because it asks the watch to leave NICs out of a
//! striped bundle.

use crate::{Said, WatchError};
use serde::{Deserialize, Serialize};
use std::{fs, io::ErrorKind};

/// What a cluster file has `tasuki tune run` do on a host. `tasuki apply` writes it to [`TunePlan::PATH`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunePlan {
    /// NICs, all with the same delay.
    pub nics: Vec<String>,
    /// The shortest delay, microseconds; 0: off.
    pub least_us: u32,
    /// The longest delay, microseconds.
    pub most_us: u32,
}

impl TunePlan {
    /// The file on a host.
    pub const PATH: &str = "/run/tasuki-tune-plan.json";

    /// The plan of this host; `None`: no delay follows the load.
    pub fn load() -> Result<Option<Self>, WatchError> {
        let fail = |source| WatchError::File { doing: "read", path: Self::PATH.into(), source };
        match fs::read_to_string(Self::PATH) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| fail(error.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fail(error)),
        }
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        // Strings and numbers can always be written as JSON.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// A NIC that `tasuki tune run` tunes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedNic {
    /// Its name.
    pub interface: String,
    /// The means by which its delay is set.
    pub means: String,
}

/// What a running `tasuki tune run` says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TunerNote {
    /// Its process id.
    pub pid: i32,
    /// The host's name.
    pub host: String,
    /// The NICs that it tunes.
    pub nics: Vec<TunedNic>,
    /// The delay that it holds for the best, microseconds; 0: off.
    pub best_us: u32,
    /// How often that delay has changed since it began.
    pub changes: u64,
    /// Packets per second, when the note was last written.
    pub packets: f64,
    /// Interrupts per second, when the note was last written.
    pub interrupts: f64,
    /// Use of the processors, 0 to 1, when the note was last written.
    pub busy: f64,
    /// NICs that it has taken out of the bundle.
    pub resting: Vec<String>,
    /// The plan that it follows; `None`: a user has started it by hand.
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
