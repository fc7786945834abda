//! What ranks on one and on several hosts see, and what becomes of those that break the protocol. Expected
//! lines are those of Flux RFC 13 and of MPICH's `src/pmi/maint/pmi-1.1.txt` and `pmi-1.2.txt`.

use tasuki_pmi::{Action, FenceIn, JobShape, JoinError, Joint, Limits, Node};

fn shape(hosts: &[u32]) -> JobShape {
    JobShape { name: "job-1".into(), hosts_of_ranks: hosts.to_vec(), universe: 9 }
}

fn actions(node: &mut Node) -> Vec<Action> {
    std::iter::from_fn(|| node.poll()).collect()
}

/// Sends a line and returns the answer, which must be all that happens.
fn ask(node: &mut Node, rank: u32, line: &str) -> String {
    node.receive(rank, format!("{line}\n").as_bytes());
    match &actions(node)[..] {
        [Action::Send { rank: to, bytes }] if *to == rank => {
            String::from_utf8(bytes.clone()).unwrap().trim_end().to_owned()
        }
        other => panic!("{line}: {other:?}"),
    }
}

fn begin(node: &mut Node, rank: u32) {
    let answer = ask(node, rank, "cmd=init pmi_version=1 pmi_subversion=1");
    assert_eq!(answer, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1");
}

fn started(hosts: &[u32], host: u32) -> Node {
    let mut node = Node::new(&shape(hosts), host, Limits::default()).unwrap();
    shape(hosts).ranks_of(host).into_iter().for_each(|rank| begin(&mut node, rank));
    node
}

fn refused(node: &mut Node, rank: u32, bytes: &[u8]) -> String {
    node.receive(rank, bytes);
    match actions(node).pop() {
        Some(Action::Refused { rank: of, why }) if of == rank => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_host_asks_for_everything() {
    let mut node = started(&[0, 0], 0);
    assert_eq!(
        ask(&mut node, 0, "cmd=get_maxes"),
        "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024"
    );
    assert_eq!(ask(&mut node, 0, "cmd=get_appnum"), "cmd=appnum rc=0 appnum=0");
    assert_eq!(ask(&mut node, 0, "cmd=get_my_kvsname"), "cmd=my_kvsname rc=0 kvsname=job-1");
    assert_eq!(ask(&mut node, 0, "cmd=get_universe_size"), "cmd=universe_size rc=0 size=9");
    let mapping = ask(&mut node, 1, "cmd=get kvsname=job-1 key=PMI_process_mapping");
    assert!(mapping.starts_with("cmd=get_result rc=0") && mapping.ends_with("value=(vector,(0,1,2))"));
    assert!(ask(&mut node, 0, "cmd=put kvsname=job-1 key=a value=b=c").starts_with("cmd=put_result rc=0"));
    assert!(ask(&mut node, 1, "cmd=get kvsname=job-1 key=a").ends_with("value=b=c"));
    assert!(ask(&mut node, 1, "cmd=get kvsname=job-1 key=b").starts_with("cmd=get_result rc=-1"));
    assert!(ask(&mut node, 1, "cmd=get kvsname=other key=a").starts_with("cmd=get_result rc=-1"));
    let first = ask(&mut node, 1, "cmd=getbyidx kvsname=job-1 idx=0");
    assert_eq!(first, "cmd=getbyidx_results rc=0 nextidx=1 key=a val=b=c");
    assert!(ask(&mut node, 1, "cmd=getbyidx kvsname=job-1 idx=1").ends_with("reason=no_more_keyvals"));
    node.receive(0, b"cmd=barrier_in\n");
    assert_eq!(actions(&mut node), []);
    node.receive(1, b"cmd=barrier_in\n");
    let out = |rank| Action::Send { rank, bytes: b"cmd=barrier_out rc=0\n".to_vec() };
    assert_eq!(actions(&mut node), [out(0), out(1)]);
    node.receive(0, b"cmd=finalize\n");
    let ack = Action::Send { rank: 0, bytes: b"cmd=finalize_ack rc=0\n".to_vec() };
    assert_eq!(actions(&mut node), [ack, Action::Finalized { rank: 0 }]);
    node.closed(0);
    node.closed(0);
    assert_eq!(actions(&mut node), [Action::Gone { rank: 0 }]);
}

#[test]
fn what_is_put_on_one_host_is_read_on_others_after_a_fence() {
    let hosts = [0, 1, 1, 0];
    let mut nodes = [started(&hosts, 0), started(&hosts, 1)];
    let mut joint = Joint::new(&shape(&hosts), Limits::default()).unwrap();
    for rank in 0..4u32 {
        let put = format!("cmd=put kvsname=job-1 key=k{rank} value=v{rank}");
        ask(&mut nodes[hosts[rank as usize] as usize], rank, &put);
    }
    assert!(ask(&mut nodes[0], 0, "cmd=get kvsname=job-1 key=k1").starts_with("cmd=get_result rc=-1"));
    let mut out = None;
    for rank in [2, 0, 3, 1] {
        let node = &mut nodes[hosts[rank as usize] as usize];
        node.receive(rank, b"cmd=barrier_in\n");
        for action in actions(node) {
            let Action::Fence(part) = action else { panic!("{action:?}") };
            assert_eq!(node.pending().collect::<Vec<_>>(), [&part]);
            assert_eq!(out, None, "the last part gives the result");
            out = joint.join(part).unwrap();
        }
    }
    let out = out.expect("all have come");
    for (host, node) in nodes.iter_mut().enumerate() {
        node.fenced(&out);
        assert_eq!(actions(node).len(), 2, "both ranks of host {host} go on");
        assert_eq!(node.pending().count(), 0);
    }
    assert!(ask(&mut nodes[0], 3, "cmd=get kvsname=job-1 key=k1").ends_with("value=v1"));
    assert!(ask(&mut nodes[1], 1, "cmd=get kvsname=job-1 key=k0").ends_with("value=v0"));
}

#[test]
fn groups_meet_without_the_others_and_names_of_groups_come_back() {
    let hosts = [0, 0, 1, 1];
    let mut node = Node::new(&shape(&hosts), 0, Limits::default()).unwrap();
    let answer = ask(&mut node, 0, "cmd=init pmi_version=1 pmi_subversion=7");
    assert!(answer.ends_with("pmi_subversion=2"), "{answer}");
    begin(&mut node, 1);
    // Ranks 0 and 2 are on two hosts; rank 1 takes no part.
    node.receive(0, b"cmd=barrier_in group=2,0:5\n");
    let part = FenceIn { host: 0, group: "0,2:5".into(), number: 1, puts: Vec::new() };
    assert_eq!(actions(&mut node), [Action::Fence(part.clone())]);
    let mut joint = Joint::new(&shape(&hosts), Limits::default()).unwrap();
    assert_eq!(joint.join(part.clone()), Ok(None));
    assert_eq!(joint.join(part.clone()), Ok(None), "the same part once more");
    let out = joint.join(FenceIn { host: 1, ..part }).unwrap().unwrap();
    node.fenced(&out);
    let named = Action::Send { rank: 0, bytes: b"cmd=barrier_out rc=0 group=2,0:5\n".to_vec() };
    assert_eq!(actions(&mut node), [named]);
    // A barrier of the host's own ranks needs no other host.
    node.receive(0, b"cmd=barrier_in group=NODE:1\n");
    node.receive(1, b"cmd=barrier_in group=NODE:1\n");
    assert_eq!(actions(&mut node).len(), 2);
}

#[test]
fn a_rank_that_leaves_without_a_word_is_told() {
    let mut node = started(&[0, 0, 0], 0);
    node.closed(2);
    assert_eq!(actions(&mut node), [Action::Lost { rank: 2 }]);
    node.receive(0, b"cmd=abort exitcode=3\n");
    assert_eq!(actions(&mut node), [Action::Abort { rank: 0, code: 3, message: String::new() }]);
}

#[test]
fn a_rank_that_never_began_keeps_nobody_waiting_for_ever() {
    // On the same host, whichever comes first, and also if the one that waits says nothing.
    let stuck = Action::Stuck { rank: 0, awaits: 1 };
    let mut node = Node::new(&shape(&[0, 0]), 0, Limits::default()).unwrap();
    begin(&mut node, 0);
    node.closed(1);
    assert_eq!(actions(&mut node), [Action::Gone { rank: 1 }, stuck.clone()]);
    let mut node = Node::new(&shape(&[0, 0]), 0, Limits::default()).unwrap();
    node.closed(1);
    assert_eq!(actions(&mut node), [Action::Gone { rank: 1 }], "nobody has begun");
    node.receive(0, b"cmd=init pmi_version=1 pmi_subversion=1\n");
    assert!(actions(&mut node).contains(&stuck));
    // A rank that has left in order is awaited only in a barrier.
    let mut node = started(&[0, 0], 0);
    node.receive(1, b"cmd=finalize\n");
    node.closed(1);
    assert!(!actions(&mut node).contains(&stuck));
    node.receive(0, b"cmd=barrier_in\n");
    assert_eq!(actions(&mut node), [stuck]);
    // On another host, whichever comes first.
    let part = FenceIn { host: 0, group: String::new(), number: 1, puts: Vec::new() };
    let mut joint = Joint::new(&shape(&[0, 1]), Limits::default()).unwrap();
    assert_eq!(joint.gone(1), Ok(()), "nobody waits");
    assert_eq!(joint.join(part.clone()), Err(JoinError::Stuck { rank: 1 }));
    let mut joint = Joint::new(&shape(&[0, 1]), Limits::default()).unwrap();
    assert_eq!(joint.join(part), Ok(None));
    assert_eq!(joint.gone(1), Err(JoinError::Stuck { rank: 1 }));
}

#[test]
fn services_that_are_not_had_are_refused_in_words() {
    let mut node = started(&[0], 0);
    let answer = ask(&mut node, 0, "mcmd=spawn\nnprocs=1\nexecname=./x\ntotspawns=1\nspawnssofar=1\nendcmd");
    assert!(answer.starts_with("cmd=spawn_result rc=-1 msg=MPI_Comm_spawn_is_not_to_be_had"), "{answer}");
    let answer = ask(&mut node, 0, "cmd=lookup_name service=a");
    assert!(answer.starts_with("cmd=lookup_result rc=-1"), "{answer}");
    assert!(ask(&mut node, 0, "cmd=put kvsname=job-1 key=PMI_x value=1").contains("rc=-1"));
    let long = "x".repeat(1024);
    assert!(ask(&mut node, 0, &format!("cmd=put kvsname=job-1 key=a value={long}")).contains("rc=-1"));
    let mut node = Node::new(&shape(&[0]), 0, Limits::default()).unwrap();
    let answer = ask(&mut node, 0, "cmd=init pmi_version=2 pmi_subversion=0");
    assert!(answer.starts_with("cmd=response_to_init rc=-1"), "{answer}");
}

#[test]
fn what_breaks_the_protocol_ends_that_rank_alone() {
    let limits = Limits { line: 100, keys: 2, bytes: 60, barriers: 2, ..Limits::default() };
    let new = || {
        let mut node = Node::new(&shape(&[0, 0]), 0, limits).unwrap();
        begin(&mut node, 0);
        node
    };
    assert!(refused(&mut new(), 0, &[b'x'; 101]).contains("more than 100 bytes"));
    assert!(refused(&mut new(), 0, b"hello\n").contains("without cmd="));
    assert!(refused(&mut new(), 0, b"cmd=get kvsname=\x01\n").contains("0x01"));
    assert!(refused(&mut new(), 0, b"cmd=init pmi_version=1 pmi_subversion=1\n").contains("init twice"));
    assert!(refused(&mut new(), 1, b"cmd=get_maxes\n").contains("before init"));
    assert!(refused(&mut new(), 0, b"cmd=barrier_in group=7:0\n").contains("rank \"7\" of 2"));
    assert!(refused(&mut new(), 0, b"cmd=barrier_in group=1:0\n").contains("without itself"));
    assert!(refused(&mut new(), 0, b"cmd=barrier_in\ncmd=barrier_in\n").contains("twice"));
    let barriers = b"cmd=barrier_in\ncmd=barrier_in group=WORLD:1\ncmd=barrier_in group=WORLD:2\n";
    assert!(refused(&mut new(), 0, barriers).contains("more than 2 barriers"));
    let puts = "cmd=put kvsname=job-1 key=a value=b\n".repeat(3);
    assert!(refused(&mut new(), 0, puts.as_bytes()).contains("more than 2 keys"));
    let put = format!("cmd=put kvsname=job-1 key=a value={}\n", "x".repeat(60));
    assert!(refused(&mut new(), 0, put.as_bytes()).contains("more than 60 bytes"));
    // After that nothing of this rank counts, and the other goes on.
    let mut node = new();
    refused(&mut node, 0, b"hello\ncmd=get_maxes\n");
    node.receive(0, b"cmd=get_maxes\n");
    node.closed(0);
    node.receive(7, b"cmd=get_maxes\n");
    assert_eq!(actions(&mut node), []);
    begin(&mut node, 1);
}

#[test]
fn a_host_that_says_nonsense_is_named() {
    let new = || Joint::new(&shape(&[0, 1, 1]), Limits::default()).unwrap();
    let part = |host, group: &str, puts: &[(&str, &str)]| FenceIn {
        host,
        group: group.into(),
        number: 1,
        puts: puts.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
    };
    for (host, group) in [(2, ""), (0, "1,2:0"), (0, "NODE:0"), (0, "9:0"), (0, "1,0:0")] {
        assert!(matches!(new().join(part(host, group, &[])), Err(JoinError::Host { .. })), "{host} {group}");
    }
    let mut joint = new();
    assert_eq!(joint.join(part(0, "", &[("a", "b")])), Ok(None));
    assert!(matches!(joint.join(part(0, "", &[("a", "c")])), Err(JoinError::Twice { .. })));
    assert!(matches!(new().join(part(0, "", &[("PMI_a", "b")])), Err(JoinError::Put { .. })));
    assert!(matches!(new().join(part(0, "", &[("", "b")])), Err(JoinError::Put { .. })));
}

#[test]
fn a_joint_that_begins_anew_gives_what_hosts_have_missed_and_mixes_no_barriers() {
    let shape = shape(&[0, 1]);
    let part = |host, number, puts: &[(&str, &str)]| FenceIn {
        host,
        group: String::new(),
        number,
        puts: puts.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
    };
    let mut joint = Joint::new(&shape, Limits::default()).unwrap();
    assert_eq!(joint.join(part(0, 1, &[("a", "1")])), Ok(None));
    let out = joint.join(part(1, 1, &[("b", "2")])).unwrap().unwrap();
    // Host 0 has the result and comes to its next barrier; host 1 has missed it, and says its part again.
    let mut anew = Joint::anew(&shape, Limits::default(), joint.results().clone()).unwrap();
    assert_eq!(anew.join(part(0, 2, &[])), Ok(None));
    assert_eq!(anew.join(part(1, 1, &[("b", "2")])), Ok(None), "it is no part of the second barrier");
    assert!(anew.missed().eq([out.clone()]));
    let second = anew.join(part(1, 2, &[])).unwrap().unwrap();
    assert_eq!((second.number, second.puts.len()), (2, 0));
    // A host takes each result once.
    let mut node = started(&[0, 1], 0);
    node.receive(0, b"cmd=barrier_in\n");
    let Some(Action::Fence(own)) = node.poll() else { panic!("no part") };
    assert_eq!(own.number, 1);
    node.fenced(&out);
    assert!(matches!(actions(&mut node)[..], [Action::Send { .. }]));
    node.receive(0, b"cmd=barrier_in\n");
    node.poll();
    node.fenced(&out);
    assert_eq!(actions(&mut node), [], "the first result once more does not end the second barrier");
    node.fenced(&second);
    assert!(matches!(actions(&mut node)[..], [Action::Send { .. }]));
    // Where the results were lost, a host that is ahead is found, and nobody waits for ever.
    let mut lost = Joint::new(&shape, Limits::default()).unwrap();
    assert!(matches!(lost.join(part(0, 2, &[])), Err(JoinError::Ahead { host: 0, .. })));
}

#[test]
fn what_all_ranks_put_fits_a_message_or_ends_the_job() {
    let limits = Limits { space: 100, ..Limits::default() };
    let part = |host, number, key: &str, long: usize| {
        let puts = vec![(key.to_owned(), "x".repeat(long))];
        FenceIn { host, group: String::new(), number, puts }
    };
    // Neither host puts too much alone.
    let mut joint = Joint::new(&shape(&[0, 1]), limits).unwrap();
    assert_eq!(joint.join(part(0, 1, "a", 46)), Ok(None));
    let error = joint.join(part(1, 1, "b", 46)).unwrap_err();
    assert_eq!(error, JoinError::Space { bytes: 102, limit: 100 });
    assert!(error.to_string().contains("a job may have 100: start it with fewer ranks"), "{error}");
    // What fences bring one after the other counts as well, since a host may have to be told all of it.
    let mut joint = Joint::new(&shape(&[0, 1]), limits).unwrap();
    for number in 1..=3 {
        // A value that takes the place of an earlier one does not.
        assert_eq!(joint.join(part(0, number, "a", 40)), Ok(None));
        assert!(matches!(joint.join(part(1, number, "b", 40)), Ok(Some(_))));
    }
    assert_eq!(joint.join(part(0, 4, "c", 1)), Ok(None));
    assert!(matches!(joint.join(part(1, 4, "d", 1)), Err(JoinError::Space { bytes: 102, .. })));
}
