//! Generated shapes, compared with figures that were worked out by hand and with their own text.

use tasuki_cluster::{
    AddressPlan, Cluster, HostId,
    generate::{Options, SHAPES, Shape, generate},
};

fn cluster(shape: &str) -> Cluster {
    generate(&shape.parse().unwrap(), &Options::default()).unwrap()
}

/// Hosts, switches, cables, and NICs of every host.
fn figures(shape: &str) -> (usize, usize, usize, Vec<usize>) {
    let cluster = cluster(shape);
    let nics = cluster.hosts.iter().map(|host| host.nics.len()).collect();
    (cluster.hosts.len(), cluster.switches.len(), cluster.cables.len(), nics)
}

#[test]
fn figures_by_hand() {
    // n(n-1)/2 cables, n-1 NICs each.
    assert_eq!(figures("full:4"), (4, 0, 6, vec![3; 4]));
    assert_eq!(figures("full:2"), (2, 0, 1, vec![1; 2]));
    assert_eq!(figures("star:4"), (4, 1, 4, vec![1; 4]));
    assert_eq!(figures("planes:4x3"), (4, 3, 12, vec![3; 4]));
    assert_eq!(figures("ring:5"), (5, 0, 5, vec![2; 5]));
    assert_eq!(figures("pair:4"), (2, 0, 4, vec![4; 2]));
    // 3 rows of 2 edges and 2 columns' gaps of 3: corners 2, edges 3, centre 4.
    assert_eq!(figures("mesh:3x3"), (9, 0, 12, vec![2, 3, 2, 3, 4, 3, 2, 3, 2]));
    assert_eq!(figures("torus:3x3"), (9, 0, 18, vec![4; 9]));
    assert_eq!(figures("torus:4x4x4"), (64, 0, 192, vec![6; 64]));
    // A hypercube of dimension 3: a dimension of size 2 has one cable, not two.
    assert_eq!(figures("torus:2x2x2"), (8, 0, 12, vec![3; 8]));
    assert_eq!(figures("torus:1x4"), (4, 0, 4, vec![2; 4]));
    // Two groups of four: 6 cables each, and 8 to the switch.
    assert_eq!(figures("mixed:8/4"), (8, 1, 20, vec![4; 8]));
}

#[test]
fn copies_of_cables_have_nics_of_their_own() {
    let options = Options { nics_per_cable: 2, ..Options::default() };
    let cluster = generate(&"full:3".parse().unwrap(), &options).unwrap();
    assert_eq!(cluster.cables.len(), 6);
    assert!(cluster.hosts.iter().all(|host| host.nics.len() == 4));
    assert_eq!(cluster.rails(HostId(0), HostId(1)).len(), 2);
}

#[test]
fn every_shape_reads_back_and_plans() {
    for text in ["full:5", "pair:3", "star:6", "planes:3x2", "ring:7", "mesh:2x5", "torus:3x2x4", "mixed:6/3"]
    {
        let shape: Shape = text.parse().unwrap();
        assert_eq!(shape.to_string(), text);
        let cluster = cluster(text);
        let toml = cluster.to_toml();
        let read = Cluster::parse(&toml, None).unwrap_or_else(|errors| panic!("{toml}\n{errors}"));
        assert_eq!(read, cluster, "{toml}");
        AddressPlan::new(&cluster).unwrap();
    }
}

#[test]
fn the_help_lists_every_shape_as_it_parses() {
    for help in SHAPES {
        let example = help.syntax.replace('N', "6").replace(['K', 'G'], "3").replace(['A', 'B'], "4");
        let shape: Shape = example.parse().unwrap_or_else(|error| panic!("{example}: {error}"));
        assert!(example.starts_with(help.name));
        generate(&shape, &Options::default()).unwrap();
    }
}

#[test]
fn bad_shapes_say_what_would_be_right() {
    let error = |text: &str| text.parse::<Shape>().unwrap_err().to_string();
    assert!(error("ful:4").contains("did you mean full?"), "{}", error("ful:4"));
    assert!(error("full").contains("full:N"));
    assert!(error("full:+4").contains("full:N"));
    assert!(error("mesh:4").contains("mesh:AxB"));
    assert!(error("mixed:8x4").contains("mixed:N/G"));
    for text in [
        "full:1",
        "ring:2",
        "pair:0",
        "star:0",
        "planes:4x0",
        "mixed:8/3",
        "mixed:8/0",
        "mesh:0x4",
        "torus:1x1",
        "full:1000000",
        "star:99999999999999999",
        "planes:4x100000",
        "pair:100000",
        "torus:9999999999x9999999999x9999999999",
    ] {
        let shape: Shape = text.parse().unwrap();
        let error = generate(&shape, &Options::default()).unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
}
