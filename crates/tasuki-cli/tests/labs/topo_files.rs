//! Files that `tasuki topo` and `tasuki plan` read and write: tables, pictures, pages, folders, grown
//! clusters.

use crate::support::{ok, tasuki, text};
use serde_json::Value;
use std::{fs, path::Path};
use tasuki_cluster::Cluster;

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&ok(tasuki().args(arguments).arg("--json"))).expect("JSON")
}

/// The output of a command that must fail, from either stream.
fn fails(arguments: &[&str]) -> String {
    let output = tasuki().args(arguments).output().expect("the command starts");
    assert!(!output.status.success(), "{arguments:?} should fail: {}", text(&output));
    text(&output)
}

fn path<'a>(folder: &'a Path, name: &str) -> (std::path::PathBuf, String, &'a Path) {
    let path = folder.join(name);
    let word = path.to_str().expect("UTF-8").to_owned();
    (path, word, folder)
}

/// Tables that an engine has written are proven right by the command that reads them; after damage by hand
/// they are refuted, with the place.
#[test]
fn tables_are_written_read_and_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, name, _) = path(folder.path(), "tables.json");
    for engine in ["structured", "lash", "dimension-order", "any-channels"] {
        ok(tasuki().args(["topo", "route", "torus:4x4+2", "--engine", engine, "--output", &name, "--force"]));
        let found = json(&["topo", "verify", "torus:4x4+2", &name]);
        assert_eq!((&found["refuted"], &found["delivered"]), (&Value::Null, &(32 * 31).into()), "{engine}");
    }
    // As in textbooks: if every host sends clockwise round a ring of four, four cables wait in a circle; with
    // drops there is no circle.
    let node = |at: usize| {
        let to = (0..4)
            .filter(|&host| host != at)
            .map(|host| format!("{{\"host\": \"host{host}\", \"port\": 1}}"));
        format!("{{\"node\": \"host{at}\", \"to\": [{}]}}", to.collect::<Vec<_>>().join(", "))
    };
    let nodes = (0..4).map(node).collect::<Vec<_>>().join(",\n");
    let clockwise =
        format!("{{\"format\": 1, \"engine\": \"by hand\", \"channels\": 1, \"nodes\": [{nodes}]}}");
    fs::write(&file, &clockwise).expect("tables");
    // The shape without switches comes from a cluster, and ring:4+1 has hosts of its own, so the graph is
    // named.
    let found: Value = serde_json::from_str(&String::from_utf8_lossy(
        &tasuki().args(["topo", "verify", "hypercube:2", &name, "--json"]).output().expect("starts").stdout,
    ))
    .expect("JSON");
    // Port 1 of the hypercube leads along the first dimension: 0-1 and 2-3 send to each other for ever.
    assert!(found["refuted"].as_str().is_some_and(|why| why.contains("goes round for ever")), "{found}");
    for (damage, says) in [
        (clockwise.replace("\"host0\", \"to\"", "\"host9\", \"to\""), "there is no \"host9\""),
        (clockwise.replace("\"node\": \"host1\"", "\"node\": \"host0\""), "host0 has two tables"),
        (clockwise.replace("\"port\": 1", "\"port\": 0"), "ports count from 1"),
        (clockwise.replace("\"channels\"", "\"lanes\""), "unknown field `lanes`"),
        (clockwise.replace("\"format\": 1", "\"format\": 7"), "format 7"),
        ("nothing".into(), "tables.json"),
    ] {
        fs::write(&file, damage).expect("tables");
        let error = fails(&["topo", "verify", "hypercube:2", &name]);
        assert!(error.contains(says), "{error}: should say {says}");
    }
    let error = fails(&["topo", "verify", "hypercube:2", "missing.json"]);
    assert!(error.contains("missing.json"), "{error}");
}

/// After a failure the same tables lose exactly the pairs whose paths used the failed cable, and the verifier
/// names cable and pair.
#[test]
fn tables_are_checked_after_failures() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, name, _) = path(folder.path(), "tables.json");
    ok(tasuki().args(["topo", "route", "ring:5+1", "--engine", "minimal", "--output", &name]));
    // In a ring of five each cable bears 1 + 2 of the 10 pairs of switches, in both directions.
    let arguments = ["topo", "verify", "ring:5+1", &name, "--without", "switch0,switch1"];
    let said = fails(&arguments);
    assert!(said.contains("REFUTED: 6 of 20 pairs") && said.contains("has no working cable"), "{said}");
    let apart = fails(&["topo", "verify", "ring:5+1", &name, "--without", "switch0"]);
    assert!(apart.contains("8 of 20 pairs") || apart.contains("no path exists"), "{apart}");
    let error = fails(&["topo", "verify", "ring:5+1", &name, "--without", "switch0,switch2"]);
    assert!(error.contains("no cable joins switch0 and switch2"), "{error}");
    let error = fails(&["topo", "verify", "torus:3x3+1", &name]);
    assert!(error.contains("not delivered"), "tables of another network: {error}");
}

/// Pictures have one element per node and one path per cable, and need nothing from elsewhere.
#[test]
fn pictures_and_pages_need_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let (svg, svg_name, _) = path(folder.path(), "net.svg");
    let (html, html_name, _) = path(folder.path(), "net.html");
    for (network, nodes, cables) in
        [("torus:4x4+4", 80, 96), ("star:5", 6, 5), ("petersen", 10, 15), ("clos:4+4", 24, 32)]
    {
        let pictures = ["--svg", &svg_name, "--html", &html_name, "--force"];
        let shown = ok(tasuki().args(["topo", "show", network]).args(pictures));
        assert!(shown.contains(&format!("{cables} cables")), "{shown}");
        for file in [&svg, &html] {
            let text = fs::read_to_string(file).expect("a file");
            assert_eq!(text.matches("class=\"part ").count(), nodes, "{network}");
            assert_eq!(text.matches("class=\"cable").count(), cables, "{network}");
            let foreign = ["<link", "src=", "@import", "url("].into_iter().find(|what| text.contains(what));
            assert_eq!(foreign, None, "{network}");
            assert_eq!(text.matches("http").count(), text.matches("http://www.w3.org/2000/svg").count());
        }
    }
    let found = json(&["topo", "show", "ring:3+1"]);
    assert_eq!(found["nodes"][0]["ports"], serde_json::json!(["switch1", "switch2", "host0"]));
    assert_eq!(found["cables"].as_array().map(Vec::len), Some(6));
}

/// What is known of each network alone (RHiNET-2, table 1 and distances with self pairs: 3.5 and 3.0), in one
/// table.
#[test]
fn networks_are_compared() {
    let found = json(&["topo", "compare", "mesh:4x4+4", "torus:4x4+4", "--price-switch", "10"]);
    let of = |at: usize, key: &str| found[at][key].clone();
    assert_eq!((of(0, "diameter"), of(1, "diameter")), (6.into(), 4.into()));
    assert_eq!(
        (of(0, "average_distance_with_self"), of(1, "average_distance_with_self")),
        (3.5.into(), 3.0.into())
    );
    // Structured channels need one channel per cable between the farthest switches.
    assert_eq!(
        (&found[0]["channels"]["structured"], &found[1]["channels"]["structured"]),
        (&6.into(), &4.into())
    );
    assert_eq!(of(0, "cost"), 160.0);
    let shown = ok(tasuki().args(["topo", "compare", "ring:5", "full:5"]));
    assert!(shown.contains("ring:5") && shown.contains("channels, lash"), "{shown}");
}

/// SCore III, 3.1 and 3.2: 512 hosts; Ethernet passes 16 of the 51.2 Gbit/s of full bisection (both
/// directions: 8 of 16 uplinks in each of two planes); Myrinet 1 Tbit/s, both directions.
#[test]
fn score_iii_is_a_shape() {
    let ethernet = json(&["topo", "measure", "score-iii-ethernet"]);
    assert_eq!(
        (&ethernet["hosts"], &ethernet["bisection_bits_per_second"]["upper"]),
        (&512.into(), &16e9.into())
    );
    let myrinet = json(&["topo", "measure", "score-iii-myrinet"]);
    assert_eq!(
        (&myrinet["hosts"], &myrinet["bisection_bits_per_second"]["upper"]),
        (&512.into(), &512e9.into())
    );
}

/// The folder holds a cluster file that reads back, tables that the verifier proves, and a list with every
/// cable's ends.
#[test]
fn a_plan_fills_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let (all, name, _) = path(folder.path(), "plan");
    let argv = [
        "plan",
        "--hosts",
        "12",
        "--nics",
        "3",
        "--rack-hosts",
        "4",
        "--price-metre",
        "2",
        "--folder",
        &name,
    ];
    let found = json(&argv);
    let cluster = Cluster::load(all.join("cluster.toml")).expect("a cluster file");
    let metres: f64 = cluster.cables.iter().filter_map(|cable| cable.length_m).sum();
    assert!(cluster.cables.iter().all(|cable| cable.length_m.is_some_and(|metres| metres > 0.0)));
    assert_eq!(found[0]["measures"]["cost"], 2.0 * metres);
    let racks: Vec<_> = cluster.hosts.iter().map(|host| host.rack.clone().unwrap_or_default()).collect();
    assert_eq!((racks[0].as_str(), racks[4].as_str(), racks[11].as_str()), ("rack1", "rack2", "rack3"));
    let list = fs::read_to_string(all.join("cabling.txt")).expect("a list");
    for (number, cable) in cluster.cables.iter().enumerate() {
        let [a, b] = cable.ends.map(|end| cluster.end_name(end));
        let lines = list.lines().filter(|line| line.contains(&format!(" c{} ", number + 1)));
        let lines: Vec<&str> = lines.collect();
        assert!(
            !lines.is_empty() && lines.iter().all(|line| line.contains(&a) && line.contains(&b)),
            "{a} {b}: {lines:?}"
        );
    }
    let labels = fs::read_to_string(all.join("labels.csv")).expect("labels");
    assert_eq!(labels.lines().count(), 1 + 2 * cluster.cables.len());
    let tables = all.join("tables.json");
    let (cluster, tables) = (all.join("cluster.toml"), tables.to_str().expect("UTF-8").to_owned());
    ok(tasuki().args(["topo", "verify", cluster.to_str().expect("UTF-8"), &tables, "--lossy", "--minimal"]));
    assert!(fs::read_to_string(all.join("index.html")).expect("a page").contains("Cabling: rack2"));
}

/// A ninth host joins eight with three ports each: all 24 ports are used, so one cable must be moved (two of
/// the new ports are used, the third has no partner), and eleven stay. A host that joins at a switch with a
/// free port moves none.
#[test]
fn clusters_grow() {
    let folder = tempfile::tempdir().expect("a folder");
    let (old_file, old_name, _) = path(folder.path(), "old.toml");
    ok(tasuki().args(["plan", "--hosts", "8", "--nics", "3", "-o", &old_name]));
    let (new_file, new_name, _) = path(folder.path(), "new.toml");
    let argv =
        ["plan", "--hosts", "9", "--nics", "3", "--grow", &old_name, "--best", "moved", "-o", &new_name];
    let found = json(&argv);
    let moves = |at: usize, what: &str| found[at]["moves"][what].as_u64().expect("a number");
    assert_eq!((moves(0, "moved"), moves(0, "kept"), moves(0, "added")), (1, 11, 1), "{}", found[0]["moves"]);
    let (old, new) = (Cluster::load(&old_file).expect("old"), Cluster::load(&new_file).expect("new"));
    let ends = |cluster: &Cluster| -> Vec<[String; 2]> {
        cluster.cables.iter().map(|cable| cable.ends.map(|end| cluster.end_name(end))).collect()
    };
    let (old_ends, new_ends) = (ends(&old), ends(&new));
    // A cable that stays keeps its number, and with it its label.
    let same = old_ends.iter().zip(&new_ends).filter(|(a, b)| a == b).count();
    assert_eq!((same, new_ends.len(), new.hosts.len()), (11, 13, 9));
    for one in found.as_array().expect("a list") {
        let number = |what: &str| one["moves"][what].as_u64().expect("a number");
        assert_eq!(number("kept") + number("moved"), 12, "{one}");
        assert_eq!(number("moved"), one["moves"]["unplug"].as_array().map(Vec::len).unwrap_or(0) as u64);
    }
    // Three hosts are on a switch of five ports: two more find free ports.
    ok(tasuki().args(["plan", "--hosts", "3", "--nics", "1", "--switch", "5", "-o", &old_name, "--force"]));
    let found = json(&["plan", "--hosts", "5", "--nics", "1", "--grow", &old_name, "--best", "moved"]);
    assert_eq!((&found[0]["moves"]["moved"], &found[0]["moves"]["added"]), (&0.into(), &2.into()));
    let error = fails(&["plan", "--hosts", "6", "--nics", "1", "--grow", &old_name]);
    assert!(error.contains("host number 6 finds no port") && error.contains("--switch"), "{error}");
    let error = fails(&["plan", "--hosts", "3", "--nics", "1", "--grow", &old_name]);
    assert!(error.contains("has 3 hosts already"), "{error}");
}

/// Several hosts at once, checked by comparing the two cluster files cable by cable. Eight hosts with three
/// ports each are full. Two more: one of their six ports goes to the other one of them and back, four take
/// the ends of two cables. Eight more cable all but two of their 24 ports to each other, so one cable is
/// moved. Four hosts on a full switch of four ports and a second switch: the cable between the switches takes
/// a port, so one host moves.
#[test]
fn clusters_grow_by_several_hosts() {
    let folder = tempfile::tempdir().expect("a folder");
    let (old_file, old_name, _) = path(folder.path(), "old.toml");
    let (new_file, new_name, _) = path(folder.path(), "new.toml");
    let full = ["--hosts", "8", "--nics", "3", "--choose", "1"];
    let star = ["--hosts", "4", "--nics", "1", "--switch", "4"];
    let cases: [(&[&str], &[&str], usize); 3] = [
        (&full, &["--hosts", "10", "--nics", "3"], 2),
        (&full, &["--hosts", "16", "--nics", "3"], 1),
        (&star, &["--hosts", "6", "--nics", "1", "--switch", "8"], 1),
    ];
    for (before, after, fewest) in cases {
        ok(tasuki().arg("plan").args(before).args(["-o", &old_name, "--force"]));
        let old = Cluster::load(&old_file).expect("old");
        let argv: Vec<&str> = ["plan", "--best", "moved", "--grow", &old_name]
            .into_iter()
            .chain(after.iter().copied())
            .collect();
        let found = json(&argv);
        for (number, one) in (1..).zip(found.as_array().expect("a list")) {
            let number: u32 = number;
            ok(tasuki().args(&argv).args(["--choose", &number.to_string(), "-o", &new_name, "--force"]));
            let new = Cluster::load(&new_file).expect("new");
            let cables = |cluster: &Cluster| -> Vec<[String; 2]> {
                let mut cables: Vec<_> =
                    cluster.cables.iter().map(|cable| cable.ends.map(|end| cluster.end_name(end))).collect();
                cables.iter_mut().for_each(|ends| ends.sort());
                cables
            };
            let there = cables(&new);
            let gone = cables(&old).iter().filter(|cable| !there.contains(cable)).count();
            assert_eq!(one["moves"]["moved"], gone, "{after:?}: {}", one["what"]);
            let nics: usize = after[3].parse().expect("a number");
            assert!(new.hosts.iter().all(|host| host.nics.len() <= nics), "{after:?}: {}", one["what"]);
            if number == 1 {
                assert_eq!(gone, fewest, "{after:?}: {}", one["what"]);
                ok(tasuki().args(["topo", "measure", &new_name]));
            }
        }
    }
}

/// PCI Express 1.0 x1 carries 2.5 GT/s less 8b/10b and headers: 2.5 * 0.8 * 256 / 280 = 1.829 Gbit/s, less
/// than three ports of 1 Gbit/s, so a host of four fully cabled sends no more than that.
#[test]
fn slots_hold_ports_back() {
    let found = json(&["plan", "--hosts", "4", "--nics", "3", "--pcie", "1x1"]);
    let rate = found[0]["all_to_all_bits_per_second"].as_f64().expect("a number");
    assert!((rate - 2.5e9 * 0.8 * 256.0 / 280.0).abs() < 1.0, "{rate}");
    assert!(
        found[0]["pcie"].as_str().is_some_and(|note| note.contains("hold back all to all by 39 %")),
        "{found}"
    );
    let wide = json(&["plan", "--hosts", "4", "--nics", "3", "--pcie", "3x4"]);
    assert!(wide[0]["pcie"].as_str().is_some_and(|note| note.contains("are enough")), "{wide}");
}

/// Input that makes no cluster is refused, with what is missing.
#[test]
fn bad_input_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, name, _) = path(folder.path(), "bad.toml");
    let host = |name: &str| format!("[[host]]\nname = \"{name}\"\nnic = [{{ name = \"eth1\" }}]\n");
    let hosts: String = ["n1", "n2", "n3", "n4"].map(host).concat();
    let cable = |a: &str, b: &str| format!("[[cable]]\nends = [\"{a}\", \"{b}\"]\n");
    let apart = format!("{hosts}{}{}", cable("n1:eth1", "n2:eth1"), cable("n3:eth1", "n4:eth1"));
    let small = "[[switch]]\nname = \"sw\"\nports = 3\n";
    let crowded: String = ["n1:eth1", "n2:eth1", "n3:eth1", "n4:eth1"].map(|end| cable(end, "sw")).concat();
    for (text, says) in
        [(apart, "cannot be reached from"), (format!("{hosts}{small}{crowded}"), "no free port")]
    {
        fs::write(&file, text).expect("a file");
        for command in ["measure", "route", "show"] {
            let error = fails(&["topo", command, &name]);
            assert!(
                error.contains(says) && error.contains("bad.toml"),
                "{command}: {error} should say {says}"
            );
        }
    }
    for (arguments, says) in [
        (&["plan", "--hosts", "4", "--nics", "2", "--best", "moved"][..], "needs --grow"),
        (&["plan", "--hosts", "4", "--nics", "2", "--pcie", "9x4"], "as 3x4"),
        (&["topo", "show", "random:9/3"], "n * degree even"),
        (&["topo", "show", "dragonfly:5/2/3"], "multiple of groups - 1"),
        (&["topo", "compare", "ring:5"], "required"),
        (&["topo", "show", "torus:64x64", "--svg", "no.svg"], "up to 1500"),
        (&["topo", "route", "ring:9", "--engine", "lash", "--channels", "1"], "needs 2 virtual channels"),
        (&["topo", "route", "ring:9", "--output", "no.json"], "--engine"),
    ] {
        let error = fails(arguments);
        assert!(error.contains(says), "{arguments:?}: {error:?} should say {says:?}");
    }
}

/// A file that is there is written over only if that is asked for, and the refusal comes before any work.
#[test]
fn files_are_not_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, name, _) = path(folder.path(), "precious");
    std::fs::write(&file, "precious").expect("writes");
    let commands: [&[&str]; 6] = [
        &["cluster", "new", "full:2", "-o", &name],
        &["plan", "--hosts", "4", "--nics", "3", "-o", &name],
        &["topo", "route", "ring:5+1", "--engine", "minimal", "--output", &name],
        &["topo", "show", "torus:4x4", "--svg", &name],
        &["topo", "show", "torus:4x4", "--html", &name],
        &["topo", "simulate", "ring:5+1", "--plot", &name],
    ];
    for argv in commands {
        let said = fails(argv);
        assert!(said.contains("precious is there already; --force"), "{argv:?}: {said}");
        assert_eq!(std::fs::read_to_string(&file).expect("reads"), "precious", "{argv:?}");
    }
    // The files of a folder, each alone, and whatever else lies in the folder stays.
    let (plan, plots) = (folder.path().join("plan"), folder.path().join("plots"));
    let [into_plan, into_plots] = [&plan, &plots].map(|folder| folder.to_str().expect("UTF-8"));
    let planned = ["cluster.toml", "tables.json", "cabling.txt", "labels.csv", "cabling.svg", "index.html"];
    let fill: &[&str] = &["plan", "--hosts", "4", "--nics", "3", "--folder", into_plan];
    let simulated = ["receivers-SS20-to-SS5.svg", "receivers-SS20--varying.svg"];
    let receivers: &[&str] = &["topo", "receivers", "--sizes", "500000", "--plots", into_plots];
    let figures = ["rhinet2-figure-4.svg", "rhinet2-figure-8.svg"];
    let rhinet2: &[&str] = &["topo", "rhinet2", "--lists", "1", "--graphs", "1", "--plots", into_plots];
    for (argv, into, names) in
        [(fill, &plan, &planned[..]), (receivers, &plots, &simulated), (rhinet2, &plots, &figures)]
    {
        for name in names {
            let precious = into.join(name);
            std::fs::create_dir_all(into).expect("a folder");
            std::fs::write(&precious, "precious").expect("writes");
            let said = fails(argv);
            assert!(said.contains(&format!("{name} is there already; --force")), "{argv:?}: {said}");
            let left = std::fs::read_dir(into).expect("reads").count();
            assert_eq!((left, std::fs::read_to_string(&precious).expect("reads")), (1, "precious".into()));
            std::fs::remove_file(&precious).expect("removes");
        }
    }
    ok(tasuki().args(fill));
    assert_eq!(std::fs::read_dir(&plan).expect("reads").count(), planned.len(), "all files are guarded");
    ok(tasuki().args(fill).arg("--force"));
    ok(tasuki().args(commands[0]).arg("--force"));
    assert!(std::fs::read_to_string(&file).expect("reads").contains("[[host]]"));
    ok(tasuki().args(["cluster", "new", "full:2", "-o", "/dev/null"]));
}
