//! Names in a cluster file reach command lines, shells, ssh, systemd units, firewall rules and paths.
//! Whatever a file says, what is accepted of it is harmless there, and what is not accepted is an error with
//! its line and key.

use proptest::prelude::*;
use std::path::Path;
use tasuki_cluster::{Cluster, Problem};

/// A file with a text in the place of one name; everything else is valid.
fn file(place: &str, text: &str) -> String {
    let quoted = quote(text);
    let or = |key: &str, usual: &str| if place == key { quoted.clone() } else { format!("\"{usual}\"") };
    let line =
        |key: &str, before: &str| if place == key { format!("{before}{quoted}\n") } else { String::new() };
    format!(
        "[cluster]\nname = {}\n[ssh]\n{}{}[[host]]\nname = {}\n{}{}{}{}{}nic = [{{ name = {} \
         }}]\n[[host]]\nname = \"second\"\nnic = [{{ name = \"eth1\" }}]\n[[cable]]\nends = [{}, \
         \"second:eth1\"]\n",
        or("cluster.name", "c"),
        line("ssh.user", "user = "),
        line("ssh.jump", "jump = "),
        or("host.name", "first"),
        line("host.management", "management = "),
        line("host.rack", "rack = "),
        line("host.module", "module = "),
        if place == "host.ssh.user" { format!("ssh.user = {quoted}\n") } else { String::new() },
        if place == "host.ssh.jump" { format!("ssh.jump = {quoted}\n") } else { String::new() },
        or("host.nic.name", "eth1"),
        quote(&match place {
            "host.name" => format!("{text}:eth1"),
            "host.nic.name" => format!("first:{text}"),
            _ => "first:eth1".into(),
        }),
    )
}

/// A basic string of TOML, by its specification and not by the crate's own writer.
fn quote(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if u32::from(c) < 0x20 || c == '\u{7f}' => format!("\\u{:04X}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// All names in a checked cluster.
fn names(cluster: &Cluster) -> Vec<String> {
    let mut all = vec![cluster.name.clone()];
    for (number, host) in cluster.hosts.iter().enumerate() {
        let target = cluster.ssh_target(tasuki_cluster::HostId(number));
        all.extend([host.name.clone(), target.address.to_owned()]);
        all.extend([target.user, target.jump].into_iter().flatten().map(str::to_owned));
        all.extend(host.nics.iter().map(|nic| nic.name.clone()));
    }
    all
}

/// Texts that mean something other than a name to the tools that get them.
fn hostile() -> impl Strategy<Value = String> {
    let planted = prop::sample::select(vec![
        "-oProxyCommand=touch /tmp/planted",
        "--",
        "-",
        "-F/dev/null",
        "n1 -oProxyCommand=id",
        "$(touch /tmp/planted)",
        "`id`",
        "a;id",
        "a|id",
        "a&id",
        "a\nid",
        "a\rid",
        "a\0id",
        "\u{1b}]0;title\u{7}",
        "\u{9b}31m",
        "\u{202e}txe",
        "..",
        ".",
        "../../etc/passwd",
        "/etc/passwd",
        "a/../b",
        "%n",
        "%h",
        "${IFS}id",
        "a b",
        "'a",
        "\"a",
        "a\\",
        "eth*",
        "a@-oProxyCommand=id",
        "-l@a",
        "me@n1:22",
        "n1,-oProxyCommand=id",
        "none,-x",
        "[::1",
        "a]b",
        "{a}",
        "~",
        "#a",
        "!a",
        "a=b",
    ]);
    let alphabet = "[-@:.,/\\\\ a-z0-9$;'\"%\u{1b}\n]{1,12}";
    prop_oneof![planted.prop_map(str::to_owned), alphabet.prop_map(|text| text), any::<String>()]
}

const PLACES: [&str; 9] = [
    "cluster.name",
    "ssh.user",
    "ssh.jump",
    "host.name",
    "host.management",
    "host.ssh.user",
    "host.ssh.jump",
    "host.nic.name",
    "host.rack",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn a_name_is_harmless_or_refused_with_its_place(
        place in prop::sample::select(PLACES.to_vec()),
        text in hostile(),
    ) {
        let file = file(place, &text);
        match Cluster::parse(&file, Some(Path::new("hostile.toml"))) {
            Ok(cluster) => {
                for name in names(&cluster) {
                    prop_assert!(!name.is_empty() && !name.starts_with(['-', '.', '/', '~']), "{name:?}");
                    // Of the characters that shells, systemd, nft and ssh treat specially, only those of
                    // addresses may stay: a colon, the brackets of IPv6, the % of a zone, and @ and commas
                    // between jump hosts.
                    let stays = |c: char| c.is_ascii_alphanumeric() || "._-+@:,[]%".contains(c);
                    prop_assert!(name.chars().all(stays), "{name:?}");
                    prop_assert!(!name.contains('%') || name.contains(':'), "% outside of an IPv6 zone: \
                        {name:?}");
                    prop_assert!(!name.split(['@', ',']).any(|part| part.starts_with('-')), "{name:?}");
                }
                for text in cluster.hosts.iter().flat_map(|host| [&host.rack, &host.module]).flatten() {
                    prop_assert!(!text.chars().any(char::is_control), "{text:?}");
                }
            }
            Err(errors) => {
                let first = &errors.errors[0];
                prop_assert!(first.place.line > 0 && first.place.column > 0, "{first:?}");
                let is_there = first.key.starts_with(place) || first.key == "cable.ends";
                prop_assert!(is_there, "{} at {place}", first.key);
                // The report of the error does nothing to a terminal either.
                let report = errors.to_string();
                prop_assert!(!report.chars().any(|c| c.is_control() && c != '\n'), "{report:?}");
            }
        }
    }
}

/// An earlier version could be attacked so: whoever ran `tasuki status FILE` ran the command in the file.
#[test]
fn an_option_of_ssh_is_no_address() {
    let text = file("host.management", "-oProxyCommand=id");
    let errors = Cluster::parse(&text, Some(Path::new("cluster.toml"))).unwrap_err();
    let [error] = &errors.errors[..] else { panic!("{errors}") };
    assert!(matches!(&error.problem, Problem::BadSsh { .. }), "{errors}");
    assert_eq!((error.place.line, error.key.as_str()), (6, "host.management"), "{errors}");
    assert!(errors.to_string().contains("begins with \"-\""), "{errors}");
}

/// Random names found that a part of a user's name could be an option.
#[test]
fn no_part_of_a_user_is_an_option() {
    for (user, says) in [
        ("@-", "nothing on one side"),
        ("me@-oProxyCommand", "\"-oProxyCommand\" of the user's name"),
        ("me@.x", "begins with \".\""),
        ("me@", "nothing on one side"),
        ("-l", "the user's name \"-l\" begins"),
    ] {
        let errors = Cluster::parse(&file("ssh.user", user), None).unwrap_err().to_string();
        assert!(errors.contains(says), "{user}: {errors}");
    }
    assert!(Cluster::parse(&file("ssh.user", "me@example.org"), None).is_ok());
}

/// A host's own options count before its cluster's, and a user in `management` before both.
#[test]
fn the_nearest_option_counts() {
    let text = "[ssh]\nuser = \"all\"\nport = 22\njump = \"gw:2222\"\n[[host]]\nname = \"a\"\nnic = [{ name \
                = \"e\" }]\n[[host]]\nname = \"b\"\nmanagement = \"me@192.0.2.7\"\nssh = { port = 2022, jump \
                = \"none\" }\nnic = [{ name = \"e\" }]\n[[cable]]\nends = [\"a:e\", \"b:e\"]\n";
    let cluster = Cluster::parse(text, None).unwrap();
    let targets = [0, 1].map(|number| cluster.ssh_target(tasuki_cluster::HostId(number)).to_string());
    assert_eq!(targets, ["-p 22 -J gw:2222 all@a", "-p 2022 -J none me@192.0.2.7"]);
}
