//! Measurements in labs that papers' figures need: `tasuki bench ...` commands, and how their JSON is read.

use serde_json::Value;

/// A measurement: the arguments of a `tasuki` command that prints JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Short name, by which its results are kept in a folder.
    pub name: &'static str,
    /// Arguments, beginning with `bench`. `{cluster}` stands for the file of `cluster`.
    pub arguments: Vec<String>,
    /// A cluster file that the measurement needs.
    pub cluster: Option<ClusterFile>,
    /// About how long it takes on two processors, seconds.
    pub seconds: u64,
}

/// A cluster file made for a measurement: a generated one with more at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterFile {
    /// Its shape, as `tasuki cluster new` takes it.
    pub shape: &'static str,
    /// What comes behind it.
    pub more: &'static str,
}

impl Stage {
    /// A measurement by a command, whose arguments are separated by blanks.
    pub fn new(name: &'static str, seconds: u64, arguments: &str) -> Self {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Stage { name, arguments, cluster: None, seconds }
    }

    /// The command for the reader, with how its cluster file is made.
    pub fn command(&self) -> String {
        let command = format!("tasuki {}", self.arguments.join(" "));
        match self.cluster {
            None => command,
            Some(ClusterFile { shape, more }) => {
                let more = more.split_whitespace().collect::<Vec<_>>().join(" ");
                let file = command.replace("{cluster}", "CLUSTER");
                format!("{file} (CLUSTER: tasuki cluster new {shape}, and at its end: {more})")
            }
        }
    }
}

/// Records of a measurement: an array, or what is in `records`.
pub(crate) fn records(json: &Value) -> &[Value] {
    let array = json.as_array().or_else(|| json.get("records")?.as_array());
    array.map_or(&[], Vec::as_slice)
}

/// The first record in which these keys have these texts.
pub(crate) fn record<'a>(records: &'a [Value], wanted: &[(&str, &str)]) -> Option<&'a Value> {
    records.iter().find(|record| {
        wanted.iter().all(|(key, text)| match record.get(key) {
            Some(Value::String(is)) => is == text,
            Some(Value::Number(is)) => is.to_string() == *text,
            _ => false,
        })
    })
}

/// A number of a record, by the path of its keys.
pub(crate) fn number(record: &Value, path: &[&str]) -> Option<f64> {
    path.iter().try_fold(record, |at, key| at.get(key))?.as_f64()
}

/// A ratio with its interval, as `tasuki bench nas` and `cross` have it under this key.
pub(crate) fn gain(record: &Value, key: &str) -> Option<(f64, [f64; 2])> {
    let of = |name| number(record, &[key, name]);
    Some((of("gain")?, [of("low")?, of("high")?]))
}

/// The median of numbers; not a number of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader can type the command: nothing in it stands for a file that only we know.
    #[test]
    fn a_command_says_how_its_cluster_file_is_made() {
        let cluster = Some(ClusterFile { shape: "pair:2", more: "\n[striping]\npolicy = \"x\"\n" });
        let stage = Stage { cluster, ..Stage::new("s", 1, "bench mpi --lab-of {cluster} --repetitions 1") };
        assert_eq!(
            stage.command(),
            "tasuki bench mpi --lab-of CLUSTER --repetitions 1 (CLUSTER: tasuki cluster new pair:2, and at \
             its end: [striping] policy = \"x\")"
        );
    }

    #[test]
    fn records_are_found_by_texts_and_numbers() {
        let json = serde_json::json!({"records": [{"way": "one", "nics": 1, "mb": {"median": 11.8}},
            {"way": "mptcp", "nics": 4, "step": {"gain": 2.0, "low": 1.5, "high": 2.5}}]});
        let all = records(&json);
        let one = record(all, &[("way", "one"), ("nics", "1")]);
        assert_eq!(one.and_then(|one| number(one, &["mb", "median"])), Some(11.8));
        assert_eq!(record(all, &[("nics", "2")]), None);
        assert_eq!(gain(&all[1], "step"), Some((2.0, [1.5, 2.5])));
        assert_eq!((median(vec![3.0, 1.0, 2.0]), median(vec![1.0, 2.0])), (2.0, 1.5));
        assert!(records(&serde_json::json!(null)).is_empty());
    }
}
