use super::*;
use serde_json::{Value, json};

/// What `nft -j list ruleset` of nftables 1.0.6 printed for the rules of `TEXT`, here by its objects.
fn ruleset(policy: &str, input: &[Value], other: &[Value]) -> Ruleset {
    let chain = |name: &str, rest: Value| {
        let mut chain = json!({"family": "inet", "table": "filter", "name": name, "handle": 1});
        chain.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({ "chain": chain })
    };
    let mut objects = vec![
        json!({"metainfo": {"version": "1.0.6"}}),
        chain("input", json!({"type": "filter", "hook": "input", "prio": 0, "policy": policy})),
        chain("other", json!({})),
    ];
    for (chain, rules, first) in [("input", input, 10), ("other", other, 20)] {
        for (number, expr) in rules.iter().enumerate() {
            objects.push(json!({"rule": {
                "family": "inet", "table": "filter", "chain": chain, "handle": first + number, "expr": expr,
            }}));
        }
    }
    Ruleset::parse(&json!({ "nftables": objects }).to_string()).unwrap()
}

fn packet() -> Packet {
    Packet {
        tcp: false,
        from: [10, 78, 1, 1].into(),
        to: [10, 78, 2, 1].into(),
        port: 40_000,
        comes_by: Some("eth1".into()),
        leaves_by: None,
    }
}

fn left(protocol: &str, field: &str, right: Value) -> Value {
    let payload = json!({"protocol": protocol, "field": field});
    json!({"match": {"op": "==", "left": {"payload": payload}, "right": right}})
}

fn established() -> Value {
    json!([{"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established", "related"]}},
           {"accept": null}])
}

fn verdict(policy: &str, input: &[Value], other: &[Value]) -> Option<(String, bool)> {
    let found = find(&ruleset(policy, input, other), "", Place::In, &packet());
    found.map(|culprit| (culprit.rule, culprit.certain))
}

#[test]
fn a_policy_drops_what_no_rule_accepts() {
    let named = Some(("policy drop".to_owned(), true));
    assert_eq!(verdict("drop", &[established()], &[]), named);
    assert_eq!(verdict("accept", &[established()], &[]), None);
    // nft -j for `iifname "eth*" accept` and for `iif lo accept`.
    let by = |nic: &str| {
        let matches = json!({"op": "==", "left": {"meta": {"key": "iifname"}}, "right": nic});
        json!([{"match": matches}, {"accept": null}])
    };
    assert_eq!(verdict("drop", &[established(), by("eth*")], &[]), None);
    assert_eq!(verdict("drop", &[established(), by("lo")], &[]), named);
    let networks = json!({"set": [{"prefix": {"addr": "10.77.0.0", "len": 16}},
                                  {"prefix": {"addr": "10.78.0.0", "len": 16}}]});
    assert_eq!(verdict("drop", &[json!([left("ip", "saddr", networks), {"accept": null}])], &[]), None);
}

#[test]
fn a_rule_that_drops_is_named_by_its_handle_or_its_words() {
    let ports = |low: u16, high: u16| {
        let matches = left("udp", "dport", json!({"range": [low, high]}));
        json!([matches, {"counter": {"packets": 0}}, {"drop": null}])
    };
    assert_eq!(verdict("accept", &[ports(1024, 65535)], &[]), Some(("rule with handle 10".into(), true)));
    assert_eq!(verdict("accept", &[ports(1, 1023)], &[]), None);
    let text = "table inet filter { # handle 1\n\tchain input { # handle 1\n\
                \t\ttype filter hook input priority filter; policy accept;\n\
                \t\tudp dport 1024-65535 counter packets 0 bytes 0 drop # handle 10\n";
    let found = find(&ruleset("accept", &[ports(1024, 65535)], &[]), text, Place::In, &packet()).unwrap();
    assert_eq!(found.rule, "udp dport 1024-65535 counter packets 0 bytes 0 drop");
    assert_eq!((found.table.as_str(), found.chain.as_str()), ("inet filter", "input"));
    // TCP's ports are no matter of a datagram.
    let tcp = json!([left("tcp", "dport", json!(40_000)), {"drop": null}]);
    assert_eq!(verdict("accept", &[tcp], &[]), None);
}

#[test]
fn chains_that_are_jumped_to_and_maps_are_followed() {
    let jump = json!([{"jump": {"target": "other"}}]);
    let reject = json!([{"reject": {"type": "icmpx", "expr": "port-unreachable"}}]);
    let (rule, certain) =
        verdict("accept", std::slice::from_ref(&jump), std::slice::from_ref(&reject)).unwrap();
    assert!(rule.contains("chain other") && certain, "{rule}");
    assert_eq!(verdict("accept", &[jump], &[]), None);
    // nft -j for `ct state vmap { established : accept, new : goto other }`.
    let map = json!([{"vmap": {"key": {"ct": {"key": "state"}}, "data": {"set": [
        ["established", {"accept": null}], ["new", {"goto": {"target": "other"}}]]}}}]);
    assert!(verdict("accept", &[map], &[reject]).is_some());
}

#[test]
fn what_is_not_known_of_the_packet_makes_a_rule_one_that_may() {
    let mark = json!({"match": {"op": "==", "left": {"meta": {"key": "mark"}}, "right": 1}});
    let rules = [json!([mark.clone(), {"drop": null}])];
    assert_eq!(verdict("accept", &rules, &[]), Some(("rule with handle 10".into(), false)));
    // An accept that may be meant for the packet does not clear the policy, because it was dropped.
    let rules = [json!([mark, {"accept": null}])];
    assert_eq!(verdict("drop", &rules, &[]), Some(("policy drop".into(), true)));
}

/// A rule that iptables-nft has made ends in its target as an `xt` statement. nft 1.0.6 prints that as null
/// in JSON and in words in its text; later versions print the name (libnftables-json(5)).
#[test]
fn the_target_reject_of_iptables_is_a_verdict() {
    let text = "table inet filter { # handle 1\n\tchain input { # handle 1\n\
                \t\ttype filter hook input priority filter; policy accept;\n\
                \t\tct state invalid counter packets 0 bytes 0 drop # handle 10\n\
                \t\tcounter packets 3 bytes 99 reject with icmp host-prohibited # handle 11\n";
    let counter = json!({"counter": {"packets": 3}});
    let invalid = json!([{"xt": null}, counter, {"drop": null}]);
    let found = |target: Value, text: &str| {
        let rules = [invalid.clone(), json!([counter, {"xt": target}])];
        find(&ruleset("accept", &rules, &[]), text, Place::In, &packet())
    };
    let named = json!({"type": "target", "name": "REJECT"});
    for culprit in [found(Value::Null, text), found(named, text)] {
        let culprit = culprit.unwrap();
        assert!(culprit.certain && culprit.rule.ends_with("reject with icmp host-prohibited"), "{culprit:?}");
    }
    // Another target decides nothing: what is left is the rule for packets of a state that is not known.
    let log = json!({"type": "target", "name": "LOG"});
    assert!(!found(log, text).unwrap().certain);
    assert!(!found(Value::Null, &text.replace("reject with icmp host-prohibited", "log")).unwrap().certain);
}
