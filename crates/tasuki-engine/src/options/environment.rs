//! The environment variables that change an endpoint's options. Their names, words and defaults are in
//! [`tasuki_tuning::variables`].

use std::path::PathBuf;

use tasuki_tuning::credit;
use tasuki_tuning::variables::{self, Values, Variable};
use tasuki_wire::JobKey;

use super::{Framing, Lanes, Options, Rate, SenderCopies, mebibytes, seconds};

/// The variables in which launchers tell the number of a job's processes: Open MPI, Hydra, Slurm.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"];

/// Number of peers among which credit is divided from the start, in a job of so many processes. Credit that
/// fits from the start need not be recalled when the next peer appears; nothing else depends on the number.
fn expected_peers(processes: Option<u32>, pool_bytes: u64) -> u32 {
    let most = u32::try_from(pool_bytes / credit::SHARE_MIN).unwrap_or(u32::MAX);
    processes.unwrap_or(1).min(most).max(1)
}

/// An environment variable has a value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value}: must be {wanted}")]
pub struct VariableError {
    /// Name of the variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The values that are allowed.
    pub wanted: Values,
}

/// Reads variables by a function, for which tests have one of their own.
struct Environment<G>(G);

impl<G: Fn(&'static str) -> Option<String>> Environment<G> {
    /// What the variable says; `None` if it is unset or empty.
    fn read<T>(
        &self,
        variable: &Variable,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, VariableError> {
        let Some(value) = self.text(variable) else { return Ok(None) };
        match parse(&value) {
            Some(parsed) => Ok(Some(parsed)),
            None => Err(VariableError { variable: variable.name, value, wanted: variable.values }),
        }
    }

    fn text(&self, variable: &Variable) -> Option<String> {
        (self.0)(variable.name).filter(|value| !value.is_empty())
    }

    /// The one of `meanings` that belongs to the word that the variable is set to. They are in the order of
    /// the words in the list of variables.
    fn choose<T: Clone, const N: usize>(
        &self,
        variable: &Variable,
        meanings: [T; N],
    ) -> Result<Option<T>, VariableError> {
        self.read(variable, |value| meaning_of(value, variable, &meanings))
    }

    fn switch(&self, variable: &Variable) -> Result<Option<bool>, VariableError> {
        self.choose(variable, [false, true])
    }

    /// The key of the job. A value that is none is not repeated in the error, because it may be nearly one.
    fn job_key(&self) -> Result<Option<JobKey>, VariableError> {
        let hide = |error| VariableError { value: "...".to_owned(), ..error };
        self.read(&variables::JOB_KEY, |value| value.parse().ok()).map_err(hide)
    }

    fn number(&self, variable: &Variable) -> Result<Option<u32>, VariableError> {
        self.read(variable, |value| value.parse().ok())
    }
}

fn meaning_of<T: Clone>(value: &str, variable: &Variable, meanings: &[T]) -> Option<T> {
    debug_assert_eq!(variable.words().len(), meanings.len(), "{}: a word without a meaning", variable.name);
    let place = variable.words().iter().position(|word| *word == value)?;
    meanings.get(place).cloned()
}

impl Options {
    /// The defaults, changed by the variables of the environment. How many peers to expect is what launchers
    /// say of the job.
    pub fn from_env() -> Result<Options, VariableError> {
        Options::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(get: impl Fn(&'static str) -> Option<String>) -> Result<Options, VariableError> {
        let env = Environment(get);
        let default = Options::default();
        let rate = env.read(&variables::RATE, |value| match value.strip_prefix("static:") {
            Some(receivers) => receivers.parse().ok().map(Rate::Static),
            None => meaning_of(value, &variables::RATE, &[Rate::Window, Rate::Adaptive]),
        })?;
        let framing = env
            .choose(&variables::BULK, [Framing::Auto, Framing::Frames, Framing::Streams, Framing::Length])?;
        let sender_copies = env.choose(
            &variables::SENDER_COPIES,
            [SenderCopies::Never, SenderCopies::Idle, SenderCopies::Always],
        )?;
        let priority = env
            .read(&variables::PRIORITY, |value| value.parse::<u8>().ok().filter(|priority| *priority < 8))?;
        let pool_bytes = env.number(&variables::POOL)?.map_or(default.pool_bytes, mebibytes);
        let size = SIZES.iter().find_map(|name| (env.0)(name)?.parse().ok());
        // Set but empty means that no broker is asked.
        let broker = (env.0)(variables::BROKER.name)
            .map_or(default.broker, |path| Some(path).filter(|path| !path.is_empty()).map(PathBuf::from));
        Ok(Options {
            expected_peers: expected_peers(size, pool_bytes),
            pool_bytes,
            identity: env.read(&variables::IDENTITY, |value| value.parse().ok())?,
            rails: env.text(&variables::RAILS).map(PathBuf::from),
            shm: env.switch(&variables::SHM)?.unwrap_or(default.shm),
            sender_copies: sender_copies.unwrap_or(default.sender_copies),
            lanes: env.choose(&variables::LANES, [Lanes::Udp, Lanes::RawUdp])?.unwrap_or(default.lanes),
            priority,
            rate: rate.unwrap_or(default.rate),
            framing: framing.unwrap_or(default.framing),
            job_key: env.job_key()?,
            broker,
            ring_bytes: env.number(&variables::RINGS)?.map_or(default.ring_bytes, mebibytes),
            linger: env.number(&variables::LINGER)?.map_or(default.linger, seconds),
            greeting: env.number(&variables::GREETING)?.map_or(default.greeting, seconds),
            stats: env.switch(&variables::STATS)?.unwrap_or(default.stats),
            dump: env.switch(&variables::DUMP)?.unwrap_or(default.dump),
            ..default
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_and_nonsense_is_named() {
        let one = |name: &'static str, value: &'static str| {
            Options::from_variables(move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert_eq!(one("TASUKI_POOL", "64").unwrap().pool_bytes, 64 << 20);
        assert!(!one("TASUKI_SHM", "0").unwrap().shm);
        assert!(one("TASUKI_SHM", "").unwrap().shm);
        assert_eq!(one("TASUKI_IDENTITY", "10.77.0.1").unwrap().identity, "10.77.0.1".parse().ok());
        assert_eq!(one("TASUKI_LANES", "udp").unwrap().lanes, Lanes::Udp);
        assert_eq!(one("TASUKI_LANES", "raw,udp").unwrap().lanes, Lanes::RawUdp);
        assert_eq!(
            one("TASUKI_LANES", "raw").unwrap_err().to_string(),
            "TASUKI_LANES=raw: must be udp or raw,udp"
        );
        let key = "000102030405060708090a0b0c0d0e0f";
        assert_eq!(one("TASUKI_JOB_KEY", key).unwrap().job_key, key.parse().ok());
        assert_eq!(one("TASUKI_JOB_KEY", "").unwrap().job_key, None);
        assert_eq!(
            one("TASUKI_JOB_KEY", "abc").unwrap_err().to_string(),
            "TASUKI_JOB_KEY=...: must be 32 hexadecimal digits"
        );
        assert_eq!(one("TASUKI_PRIORITY", "5").unwrap().priority, Some(5));
        assert_eq!(one("TASUKI_PRIORITY", "").unwrap().priority, None);
        assert_eq!(
            one("TASUKI_PRIORITY", "8").unwrap_err().to_string(),
            "TASUKI_PRIORITY=8: must be a number from 0 to 7"
        );
        assert_eq!(one("TASUKI_RATE", "adaptive").unwrap().rate, Rate::Adaptive);
        let statics = one("TASUKI_RATE", "static:101M/128K,10.77.0.2=52M/64K").unwrap().rate;
        assert_eq!(statics, Rate::Static("101M/128K,10.77.0.2=52M/64K".parse().unwrap()));
        assert_eq!(one("TASUKI_RATE", "static").unwrap_err().variable, "TASUKI_RATE");
        assert_eq!(one("TASUKI_RATE", "fast").unwrap_err().variable, "TASUKI_RATE");
        assert_eq!(one("TASUKI_BULK", "length").unwrap().framing, Framing::Length);
        assert_eq!(one("TASUKI_BULK", "").unwrap().framing, Framing::Auto);
        assert_eq!(one("TASUKI_BULK", "frames").unwrap().framing, Framing::Frames);
        assert_eq!(one("TASUKI_BULK", "streams").unwrap().framing, Framing::Streams);
        assert_eq!(
            one("TASUKI_BULK", "0").unwrap_err().to_string(),
            "TASUKI_BULK=0: must be auto, frames, streams or length"
        );
        assert_eq!(one("TASUKI_SHM", "yes").unwrap_err().to_string(), "TASUKI_SHM=yes: must be 0 or 1");
        assert_eq!(one("TASUKI_SENDER_COPIES", "always").unwrap().sender_copies, SenderCopies::Always);
        assert_eq!(one("TASUKI_SENDER_COPIES", "").unwrap().sender_copies, SenderCopies::Idle);
        assert_eq!(one("TASUKI_SENDER_COPIES", "1").unwrap_err().variable, "TASUKI_SENDER_COPIES");
        assert_eq!(one("TASUKI_BROKER", "/a/b").unwrap().broker, Some("/a/b".into()));
        assert_eq!(one("TASUKI_BROKER", "").unwrap().broker, None);
        assert_eq!(one("TASUKI_SHM", "1").unwrap().broker, Some("/run/tasuki/broker.sock".into()));
        assert_eq!(one("OMPI_COMM_WORLD_SIZE", "16").unwrap().expected_peers, 16);
        assert_eq!(one("PMI_SIZE", "2").unwrap().expected_peers, 2);
        assert_eq!(
            one("PMI_SIZE", "many").unwrap().expected_peers,
            1,
            "a launcher's affair, no error of the user"
        );
        assert_eq!(one("SLURM_NTASKS", "100000").unwrap().expected_peers, 64, "32 MiB, 512 KiB each");
        assert_eq!(one("SLURM_NTASKS", "0").unwrap().expected_peers, 1);
        assert_eq!(one("TASUKI_LINGER", "-1").unwrap_err().variable, "TASUKI_LINGER");
    }

    fn set(name: &'static str, value: &'static str) -> Result<Options, VariableError> {
        Options::from_variables(move |asked| (asked == name).then(|| value.to_owned()))
    }

    /// Variables whose default in the list is a value, and not a description.
    fn with_defaults() -> impl Iterator<Item = &'static Variable> {
        let is_value = |variable: &&Variable| match variable.values {
            Values::Choice(_) | Values::ChoiceOr(..) => true,
            Values::Number(_) => variable.default.parse::<u32>().is_ok(),
            Values::Text(_) => variable.default.starts_with('/') && !variable.default.contains(' '),
        };
        let read = |variable: &&Variable| variable.readers.contains(&variables::Reader::Endpoints);
        variables::variables().filter(read).filter(is_value)
    }

    #[test]
    fn the_defaults_in_the_list_of_variables_are_those_of_the_options() {
        let default = format!("{:?}", Options::default());
        assert!(with_defaults().count() >= 9);
        for variable in with_defaults() {
            let options = set(variable.name, variable.default);
            let options = options.unwrap_or_else(|error| panic!("the default is not allowed: {error}"));
            assert_eq!(format!("{options:?}"), default, "{}={}", variable.name, variable.default);
        }
    }

    #[test]
    fn every_word_in_the_list_of_variables_has_a_meaning_of_its_own() {
        for variable in with_defaults() {
            let mut meanings = std::collections::BTreeSet::new();
            for word in variable.words() {
                let options = set(variable.name, word).unwrap_or_else(|error| panic!("{error}"));
                assert!(meanings.insert(format!("{options:?}")), "{}={word}", variable.name);
            }
        }
    }
}
