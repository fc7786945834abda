//! The example files describe what they say: the generated shapes, written by hand.

use std::path::Path;
use tasuki_cluster::{
    AddressPlan, Cluster, StripePolicy, Striping,
    generate::{Options, generate},
};

fn example(name: &str) -> Cluster {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    Cluster::load(folder.join(name)).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn examples_are_the_shapes_of_their_names() {
    for (file, shape) in [
        ("full4.toml", "full:4"),
        ("star4.toml", "star:4"),
        ("ring5.toml", "ring:5"),
        ("mixed8.toml", "mixed:8/4"),
        ("planes4x3.toml", "planes:4x3"),
    ] {
        let mut example = example(file);
        AddressPlan::new(&example).unwrap();
        assert_eq!(format!("{}.toml", example.name), file);
        let mtu = example.hosts[0].nics[0].mtu;
        let options = Options { mtu, cores: example.hosts[0].cores, ..Options::default() };
        let mut generated = generate(&shape.parse().unwrap(), &options).unwrap();
        // A generated cluster has no name and no source.
        generated.name.clone_from(&example.name);
        generated.source.clone_from(&example.source);
        for (generated, example) in generated.hosts.iter_mut().zip(&example.hosts) {
            generated.management.clone_from(&example.management);
            generated.rack.clone_from(&example.rack);
        }
        for (generated, example) in generated.switches.iter_mut().zip(&example.switches) {
            generated.ports = example.ports;
        }
        // A cable may be written with its ends the other way round.
        for cable in generated.cables.iter_mut().chain(&mut example.cables) {
            cable.length_m = None;
            cable.ends.sort();
        }
        generated.cables.sort_by_key(|cable| cable.ends);
        example.cables.sort_by_key(|cable| cable.ends);
        assert_eq!(generated, example, "{file}");
    }
}

/// Four parallel cables and a table of its own, which is written as it is read.
#[test]
fn the_striped_example_reads_back() {
    let mut striped = example("striped.toml");
    let text = striped.to_toml();
    let mut again = Cluster::parse(&text, None).unwrap();
    again.source.clone_from(&striped.source);
    assert_eq!(again, striped);
    striped.striping = Some(Striping {
        policy: StripePolicy::FlowHash,
        granularity: Some(3),
        nics: vec!["eth1".into(), "eth2".into()],
        except: vec!["n2".into()],
    });
    again = Cluster::parse(&striped.to_toml(), striped.source.as_deref()).unwrap();
    assert_eq!(again, striped);
    striped.striping = None;
    let mut generated = generate(&"pair:4".parse().unwrap(), &Options::default()).unwrap();
    generated.name.clone_from(&striped.name);
    generated.source.clone_from(&striped.source);
    assert_eq!(generated, striped);
}
