//! The first example of docs/reference/cluster-file.md is a valid cluster file, and the report of an error in
//! it is the one that is printed.

use std::path::Path;
use tasuki_cluster::{AddressPlan, Cluster};

const PAGE: &str = include_str!("../../../docs/reference/cluster-file.md");

/// The first block of code with this language mark.
fn block(mark: &str) -> &'static str {
    PAGE.split(&format!("\n```{mark}\n")).nth(1).and_then(|rest| rest.split("\n```").next()).unwrap()
}

#[test]
fn the_example_is_a_cluster() {
    let cluster = Cluster::parse(block("toml"), None).unwrap();
    AddressPlan::new(&cluster).unwrap();
    assert_eq!((cluster.hosts.len(), cluster.cables.len()), (2, 2));
}

#[test]
fn the_report_is_what_is_reported() {
    let text = "[[host]]\nname = \"n1\"\nnic = [{ name = \"eth1\" }]\n[[switch]]\nname = \"sw\"\nports = 2\n";
    let padding = "\n".repeat(13);
    let text = format!("{text}{padding}[[cable]]\nends = [\"n1:eht1\", \"sw:1\"]\n");
    let report = Cluster::parse(&text, Some(Path::new("cluster.toml"))).unwrap_err().to_string();
    let page = PAGE.split("what to do:\n\n```\n").nth(1).unwrap().split("\n```").next().unwrap();
    assert_eq!(report, page);
}
