//! Barriers of many groups: what is kept of them is bounded, and a host that was away hears of all.

use tasuki_pmi::{Action, FenceIn, FenceOut, JobShape, JoinError, Joint, Limits, Node};

fn shape() -> JobShape {
    JobShape { name: "job-1".into(), hosts_of_ranks: vec![0, 1], universe: 2 }
}

fn part(host: u32, group: &str, puts: &[(&str, &str)]) -> FenceIn {
    let puts = puts.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    FenceIn { host, group: group.into(), number: 1, puts }
}

/// Both hosts come to a barrier; the second one puts something.
fn meet(joint: &mut Joint, group: &str, puts: &[(&str, &str)]) -> Result<FenceOut, JoinError> {
    assert_eq!(joint.join(part(0, group, &[]))?, None);
    Ok(joint.join(part(1, group, puts))?.expect("all have come"))
}

#[test]
fn a_job_that_meets_in_ever_new_groups_ends_with_a_reason() {
    let limits = Limits { groups: 3, ..Limits::default() };
    let mut joint = Joint::new(&shape(), limits).unwrap();
    for group in ["", "WORLD:1", "0,1:7"] {
        meet(&mut joint, group, &[]).unwrap();
    }
    let error = meet(&mut joint, "WORLD:2", &[]).unwrap_err();
    assert!(error.to_string().contains("have met in 3 different groups"), "{error}");
    // One that has met before may meet again.
    let again = |host| FenceIn { number: 2, ..part(host, "WORLD:1", &[]) };
    assert_eq!(joint.join(again(0)), Ok(None));
    assert!(matches!(joint.join(again(1)), Ok(Some(_))));
}

#[test]
fn names_of_groups_count_as_what_ranks_put() {
    let limits = Limits { space: 40, ..Limits::default() };
    let mut joint = Joint::new(&shape(), limits).unwrap();
    meet(&mut joint, "WORLD:1000000000", &[]).unwrap();
    meet(&mut joint, "WORLD:1000000001", &[]).unwrap();
    assert_eq!(meet(&mut joint, "WORLD:1000000002", &[]), Err(JoinError::Space { bytes: 48, limit: 40 }));
}

#[test]
fn a_host_that_was_away_hears_once_what_was_put_and_goes_on_in_all_groups() {
    let mut joint = Joint::new(&shape(), Limits::default()).unwrap();
    let mut node = Node::new(&shape(), 0, Limits::default()).unwrap();
    node.receive(0, b"cmd=init pmi_version=1 pmi_subversion=2\n");
    node.receive(0, b"cmd=barrier_in group=WORLD:9\ncmd=barrier_in group=WORLD:1\n");
    while node.poll().is_some() {}
    let long = "x".repeat(1000);
    meet(&mut joint, "WORLD:1", &[("a", &long)]).unwrap();
    meet(&mut joint, "WORLD:9", &[("b", "2")]).unwrap();
    meet(&mut joint, "WORLD:5", &[("c", "3")]).unwrap();
    // The joint begins anew, and the host has heard nothing.
    let anew = Joint::anew(&shape(), Limits::default(), joint.results().clone()).unwrap();
    let missed: Vec<FenceOut> = anew.missed().collect();
    let bytes: usize = missed.iter().flat_map(|out| &out.puts).map(|(_, value)| value.len()).sum();
    assert_eq!((missed.len(), bytes), (3, 1002), "everything once");
    for out in &missed {
        node.fenced(out);
        // All is there for a rank before it goes on.
        node.receive(0, b"cmd=get kvsname=job-1 key=a\ncmd=get kvsname=job-1 key=b\n");
    }
    let said = std::iter::from_fn(|| node.poll()).filter_map(|action| match action {
        Action::Send { bytes, .. } => Some(String::from_utf8(bytes).unwrap()),
        _ => None,
    });
    let said: Vec<String> = said.collect();
    assert_eq!(said.iter().filter(|line| line.starts_with("cmd=barrier_out")).count(), 2, "{said:?}");
    assert_eq!(said.iter().filter(|line| line.contains("value=2")).count(), 3, "{said:?}");
    assert!(!said.iter().any(|line| line.contains("key_not_found")), "{said:?}");
}
