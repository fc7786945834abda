//! `tasuki paper`, as a user sees it.

use crate::support::{ok, tasuki};
use serde_json::Value;
use std::{fs, process::Command};

fn json(command: &mut Command) -> Vec<Value> {
    serde_json::from_str(&ok(command)).expect("an array")
}

/// The list has all five, and no claim is lost between the list and the rules.
#[test]
fn papers_are_listed_with_their_cells() {
    let list = json(tasuki().args(["paper", "list", "--json"]));
    let names: Vec<_> = list.iter().filter_map(|row| row["paper"].as_str()).collect();
    assert_eq!(names, ["fukunaga", "nic", "score", "atm", "rhinet2"]);
    for row in &list {
        let name = row["paper"].as_str().expect("a name");
        let cells = json(tasuki().args(["paper", name, "--rules", "--json"]));
        let inputs = cells.iter().filter(|cell| cell["role"] == "input").count();
        assert_eq!(row["inputs"], inputs, "{name}");
        assert_eq!(row["predicted"], cells.len() - inputs, "{name}");
        assert!(cells.iter().all(|cell| cell["agrees"].is_null() && cell["here"].is_null()), "{name}");
    }
}

/// Figure 6 of the ATM paper has a throughput of about 50 Mbit/s with pace, which the model gives; a file
/// that says 90 is not met. Its page says so, too.
#[test]
fn a_figure_that_is_changed_in_the_file_is_not_met() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("figures");
    ok(tasuki().args(["paper", "data"]).arg(&data));
    let again = tasuki().args(["paper", "data"]).arg(&data).output().expect("runs");
    assert!(!again.status.success(), "files that are there are not written over");
    let file = data.join("atm.toml");
    let text = fs::read_to_string(&file).expect("the file");
    fs::write(&file, text.replace("gain = 5, mbps = 50", "gain = 5, mbps = 90")).expect("written");
    let verdict = |cells: &[Value]| {
        let cell = cells.iter().find(|cell| cell["item"] == "F6" && cell["cell"] == "throughput with pace");
        cell.map(|cell| cell["agrees"].clone())
    };
    let run = || {
        let mut command = tasuki();
        command.args(["paper", "atm", "--quick", "--json"]);
        command
    };
    let page = folder.path().join("atm.html");
    assert_eq!(verdict(&json(&mut run())), Some(Value::Bool(true)));
    let changed = json(run().arg("--data").arg(&data).arg("--html").arg(&page));
    assert_eq!(verdict(&changed), Some(Value::Bool(false)));
    assert!(fs::read_to_string(&page).is_ok_and(|page| page.contains("throughput with pace")));
    fs::write(&file, "[atm]\nlink_mbps = 1").expect("written");
    let output = tasuki().args(["paper", "atm", "--data"]).arg(&data).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("atm.toml") && said.contains("missing field"),
        "{said}"
    );
}
