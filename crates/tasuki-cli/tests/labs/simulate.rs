//! `tasuki topo simulate` and `tasuki topo rhinet2`, as a user sees them.

use crate::support::{ok, tasuki, text};
use serde_json::Value;

fn simulate(arguments: &[&str]) -> Value {
    let output = ok(tasuki().args(["topo", "simulate"]).args(arguments).arg("--json"));
    serde_json::from_str(&output).expect("JSON")
}

/// The output of a command that must fail.
fn fails(arguments: &[&str]) -> String {
    let output = tasuki().args(["topo", "simulate"]).args(arguments).output().expect("the command starts");
    assert!(!output.status.success(), "{arguments:?} should fail: {}", text(&output));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// At 1 Gbit/s, 1,000 bytes take 8 us per cable; the path has three cables and two switches. Below saturation
/// everything that is offered is delivered.
#[test]
fn a_lone_ring_neighbour_has_the_latency_that_a_pencil_gives() {
    let found = simulate(&["ring:4+1", "--pattern", "neighbour", "--load", "10,50", "--bytes", "1000"]);
    for point in found["points"].as_array().expect("points") {
        let inside = point["inside_mean_us"].as_f64().expect("a number");
        assert!((inside - (8.0 + 3.0 * 0.025 + 2.0 * 0.1)).abs() < 1e-6, "{inside}");
        let offered = point["offered_bits_per_second"].as_f64().expect("a number");
        let got = point["got_bits_per_second"].as_f64().expect("a number");
        assert!((got / offered - 1.0).abs() < 0.25, "{got} of {offered}");
        assert_eq!(point["dropped"], 0);
    }
}

#[test]
fn the_same_command_gives_the_same_figures() {
    let once = || simulate(&["mesh:3x3+2", "--load", "60", "--packets", "300", "--channels", "2"]);
    assert_eq!(once(), once());
}

#[test]
fn ethernet_drops_what_does_not_fit() {
    let star = ["clos:2+6", "--ethernet", "--pattern", "hot-spot", "--hot", "100", "--load", "90"];
    let point = simulate(&star)["points"][0].clone();
    // Twelve hosts offer 0.9 each. One of them sends to the others, and the cable of the hot spot carries 1.
    let (dropped, delivered) =
        (point["dropped"].as_f64().expect("some"), point["delivered"].as_f64().expect("some"));
    let share = dropped / (dropped + delivered);
    assert!((share - (1.0 - 1.9 / 10.8)).abs() < 0.05, "{share}");
}

#[test]
fn a_deadlock_is_explained_and_a_mistake_is_named() {
    let said = fails(&["ring:6+2", "--ignore-deadlock", "--load", "80"]);
    assert!(
        said.contains("deadlock") && said.contains("->switch1 vc 0") && said.contains("circle"),
        "{said}"
    );
    for (arguments, part) in [
        (&["mesh:3x3+2", "--pattern", "complement"][..], "2, 4, 8"),
        (&["torus:4x4+4", "--channels", "1"], "virtual channels"),
        (&["full:3", "--bytes", "9000"], "larger buffers"),
        (&["full:3", "--load", "0"], "--load"),
        (&["nowhere.toml"], "nowhere.toml"),
    ] {
        let said = fails(arguments);
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

#[test]
fn barriers_and_closed_loops_are_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plot.svg");
    let plot = ["--plot", file.to_str().expect("a name"), "--force"];
    for mode in [&["--barrier", "tree", "--lists", "3"][..], &["--window", "2", "--pattern", "neighbour"]] {
        let mut arguments = vec!["ring:4+2", "--bytes", "256,512"];
        arguments.extend(mode.iter().chain(&plot));
        let found = simulate(&arguments);
        let rows = [&found["points"], &found["barriers"]].map(|rows| rows.as_array().map_or(0, Vec::len));
        assert_eq!(rows[0] + rows[1], 2, "{found}");
        let svg = std::fs::read_to_string(&file).expect("a plot");
        assert!(svg.starts_with("<svg") && svg.contains("bytes"));
    }
}

#[test]
fn the_evaluation_has_every_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = tasuki();
    command
        .args(["topo", "rhinet2", "--json", "--graphs", "3", "--lists", "20", "--plots"])
        .arg(folder.path());
    let found: Value = serde_json::from_str(&ok(&mut command)).expect("JSON");
    let cells = found.as_array().expect("cells");
    for table in ["T1", "T3", "T4", "T5", "T6", "T7", "T8", "T9", "F4", "F6", "F7", "F8"] {
        assert!(cells.iter().any(|cell| cell["item"] == table), "{table}");
    }
    for cell in cells {
        assert!(cell["published"].is_f64() && cell["rule"].is_string(), "{cell}");
        assert_eq!(cell["role"] == "input", cell["rule"] == "input", "{cell}");
    }
    let constants = ok(tasuki().args(["topo", "rhinet2", "--constants"]));
    assert!(constants.contains("fitted") && constants.contains("assumed"), "{constants}");
    for figure in [4, 6, 7, 8] {
        assert!(folder.path().join(format!("rhinet2-figure-{figure}.svg")).is_file());
    }
}

/// One host computes 5 us and sends 1,000 bytes, the other sends them back: 1 us in a host per message, 8 us
/// over a cable at 1 Gbit/s, two cables of 25 ns and a switch of 100 ns. Then there is a barrier of empty
/// messages of 16 bytes.
#[test]
fn a_trace_takes_what_a_pencil_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pair.trace");
    let write = |text: &str| std::fs::write(&file, text).expect("written");
    let replay = || simulate(&["clos:1+2", "--trace", file.to_str().expect("UTF-8")]);
    let head = "tasuki-trace 1\nranks 2 # two\n";
    let pair = format!("{head}0 send 1 1000 5\n1 recv 0 1000 0\n1 send 0 1000 0\n0 recv 1 1000 0\n");
    write(&pair);
    let way = 8.0 + 2.0 * 0.025 + 0.1;
    let found = replay();
    let time = |found: &Value| found["time_us"].as_f64().expect("a number");
    assert!((time(&found) - (5.0 + 2.0 * (1.0 + way + 1.0))).abs() < 1e-6, "{found}");
    for (what, count) in [("messages", 2), ("message_bytes", 2000), ("packets", 2)] {
        assert_eq!(found[what], count, "{found}");
    }
    write(&format!("{pair}0 barrier - 0 0\n1 barrier - 0 0\n"));
    // Rank 1 has waited since it sent; rank 0 sends last, and rank 1 receives that.
    let empty = 16.0 * 8e-3 + 2.0 * 0.025 + 0.1;
    assert!((time(&replay()) - time(&found) - (1.0 + empty + 1.0)).abs() < 1e-6, "{}", replay());
    for (line, part) in [
        ("0 send 1 8 0", "never receives"),
        ("0 recv 1 8 0", "sends it only"),
        ("0 barrier - 0 0", "never takes part"),
        ("0 send 2 8 0", "count from 0"),
        ("0 jump 1 8 0", "unknown event"),
        ("0 send 1 8", "wanted: rank event"),
    ] {
        write(&format!("{head}{line}\n"));
        let said = fails(&["ring:4+1", "--trace", file.to_str().expect("UTF-8")]);
        assert!(said.contains("pair.trace: line 3") && said.contains(part), "{line}: {said}");
    }
    write(&format!("{head}0 recv 1 8 0\n0 send 1 8 0\n1 recv 0 8 0\n1 send 0 8 0\n"));
    let said = fails(&["ring:4+1", "--trace", file.to_str().expect("UTF-8")]);
    assert!(said.contains("waits here for rank"), "{said}");
}
