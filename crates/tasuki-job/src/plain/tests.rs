use super::*;
use tasuki_cluster::generate::{Options, generate};

fn request<'a>(ranks: u32, program: &'a [OsString], exports: &'a [String]) -> PlainRequest<'a> {
    PlainRequest {
        ranks,
        program,
        transport: Some(Wanted::Tcp),
        placement: Placement::ByNode,
        exports,
        port: None,
        folder: "/".into(),
    }
}

fn cluster(shape: &str) -> Cluster {
    generate(&shape.parse().unwrap(), &Options::default()).unwrap()
}

fn value<'a>(env: &'a Environment, name: &str) -> Option<&'a str> {
    let mut found = env.iter().filter(|(known, _)| known == name).map(|(_, value)| value.to_str().unwrap());
    let first = found.next();
    assert_eq!(found.next(), None, "{name} occurs once");
    first
}

// torchrun(1), "Environment Variables": RANK counts all ranks, LOCAL_RANK those of a host, GROUP_RANK hosts.
#[test]
fn ranks_are_told_what_torchrun_tells_them() {
    let mut cluster = cluster("full:3");
    (cluster.hosts[0].cores, cluster.hosts[1].cores, cluster.hosts[2].cores) = (Some(1), Some(2), Some(1));
    let parts = request(4, &[], &[]).parts(&cluster).unwrap();
    let ranks: Vec<_> = parts.iter().map(|part| (part.host, &part.ranks[..])).collect();
    assert_eq!(ranks, [(0, &[0][..]), (1, &[1, 3]), (2, &[2])]);
    let job = PlainJob {
        argv: vec!["x".into()],
        folder: "/".into(),
        env: Vec::new(),
        folders: Vec::new(),
        port: None,
        parts,
    };
    let env = job.of_rank(1, 1);
    let told = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK"];
    let values: Vec<_> = told.iter().map(|name| value(&env, name).unwrap()).collect();
    assert_eq!(values, ["3", "4", "1", "2", "1", "1"]);
    assert!(!job.has_port() && job.met_at(29_555).has_port());
}

#[test]
fn hosts_without_cores_for_ranks_are_an_error() {
    let mut cluster = cluster("pair:1");
    cluster.hosts.iter_mut().for_each(|host| host.cores = Some(0));
    assert!(matches!(request(2, &[], &[]).parts(&cluster), Err(RunError::Job(JobError::NoSlots))));
}

#[test]
fn what_the_user_exports_goes_before_what_follows_from_the_cluster() {
    let cluster = cluster("pair:1");
    let of = |exports: &[&str], is_local| {
        let exports: Vec<String> = exports.iter().map(|text| (*text).to_owned()).collect();
        let met = IpAddr::from([10, 77, 0, 1]);
        request(2, &[], &exports).environment(&cluster, met, is_local).unwrap().0
    };
    let env = of(&[], false);
    assert_eq!(value(&env, MASTER_ADDR), Some("10.77.0.1"));
    assert_eq!(value(&env, MASTER_PORT), None, "it is a free one of rank 0's host");
    // NCCL's guide: a name behind = is the whole name of an interface. Gloo takes it as it is.
    assert_eq!(value(&env, "NCCL_SOCKET_IFNAME"), Some("=tasuki0"));
    assert_eq!(value(&env, "GLOO_SOCKET_IFNAME"), Some("tasuki0"));
    let env = of(&["MASTER_ADDR=192.0.2.9", "MASTER_PORT=7", "GLOO_SOCKET_IFNAME=eth1", "A=1", "A=2"], false);
    assert_eq!(value(&env, MASTER_ADDR), Some("192.0.2.9"));
    assert_eq!(value(&env, MASTER_PORT), Some("7"));
    assert_eq!(value(&env, "GLOO_SOCKET_IFNAME"), Some("eth1"));
    assert_eq!(value(&env, "A"), Some("2"));
    assert_eq!(value(&of(&[], true), "GLOO_SOCKET_IFNAME"), None, "this machine alone need not be set up");
}

#[test]
fn a_cluster_that_authenticates_has_a_key_for_each_job_and_no_plain_tcp() {
    let cluster = Cluster { authenticate: true, ..cluster("pair:1") };
    let met = IpAddr::from([10, 77, 0, 1]);
    let tcp = request(2, &[], &[]).environment(&cluster, met, false);
    assert!(matches!(tcp, Err(RunError::Unauthenticated)));
    let request = PlainRequest { transport: None, ..request(2, &[], &[]) };
    let key = || value(&request.environment(&cluster, met, false).unwrap().0, JOB_KEY).unwrap().to_owned();
    assert_ne!(key(), key());
}

#[test]
fn what_cannot_be_run_is_an_error_that_says_why() {
    let program = ["/no/such/program".into()];
    let error = request(1, &program, &[]).prepare(&Fleet::Local).unwrap_err().to_string();
    assert!(error.contains("there is no program /no/such/program"), "{error}");
    let shm = PlainRequest { transport: Some(Wanted::Shm), ..request(1, &program, &[]) };
    assert!(matches!(shm.settings(false), Err(RunError::PlainShm)));
}

#[test]
fn on_this_machine_alone_ranks_meet_at_the_loopback_address() {
    let program = ["sh".into(), "-c".into(), "true".into()];
    let job = PlainRequest { port: Some(4000), ..request(3, &program, &[]) }.prepare(&Fleet::Local).unwrap();
    assert!(job.argv[0].to_str().unwrap().ends_with("/sh") && job.argv[1..] == program[1..]);
    assert_eq!(value(&job.env, MASTER_ADDR), Some("127.0.0.1"));
    assert_eq!(value(&job.env, MASTER_PORT), Some("4000"));
    assert_eq!(job.parts, [PlainPart { host: 0, ranks: vec![0, 1, 2] }]);
}
