//! The rates of proposals, by a pencil from the routes that Tasuki sets.

use tasuki_plan::{Inventory, OwnSwitch, proposals, rank};

/// Eight hosts in two groups of four, each fully cabled inside, and one NIC of each on a switch. A host
/// sends to the other four by the switch alone and to its group by cable and by switch, a half each, so
/// that 4 + 3 / 2 shares its NIC there.
#[test]
fn rates_are_those_of_the_routes() {
    let switches = vec![OwnSwitch { ports: 8, rate: None }];
    let inventory = Inventory { switches, ..Inventory::new(8, 4) };
    let all = proposals(&inventory).expect("proposals");
    let groups = all.into_iter().find(|one| one.what.contains("groups of 4")).expect("a proposal");
    let found = rank(groups, &inventory, &mut |_| {}).expect("measures");
    let is = |found: f64, expected: f64| (found - expected).abs() < 1.0;
    assert!(is(found.all_to_all_bits_per_second, 7e9 / 5.5), "{}", found.all_to_all_bits_per_second);
    let pair = found.measures.all_to_all_bits_per_second.expect("connected");
    assert!(is(pair, 1e9 / 5.5), "{pair}");
    // A host whose cable to the switch is lost reaches four others by three relays, of which each sends 4
    // by the switch for itself, 2 halves and 4 / 3 for that host.
    let left = found.after_cable_bits_per_second.expect("computed");
    assert!(is(left, 7e9 / (4.0 + 2.0 / 2.0 + 4.0 / 3.0)), "{left}");
    assert_eq!(found.after_switch_bits_per_second, Some(0.0), "the groups are apart");
}
