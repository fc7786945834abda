use super::*;

fn place(variables: &[(&str, &str)]) -> Result<(u32, u32, String), String> {
    let get = |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.to_string());
    let meeting = Meeting::from_variables(get).map_err(|error| error.to_string())?;
    Ok((meeting.rank, meeting.size, meeting.at))
}

#[test]
fn the_environment_names_a_place() {
    let at = [("MASTER_ADDR", "10.77.0.1"), ("MASTER_PORT", "29501")];
    assert_eq!(place(&[]), Ok((0, 1, String::new())));
    assert_eq!(place(&[("WORLD_SIZE", "1")]), Ok((0, 1, String::new())));
    let all = [&[("RANK", "2"), ("WORLD_SIZE", "3")], &at[..]].concat();
    assert_eq!(place(&all), Ok((2, 3, "10.77.0.1:29501".into())));
    let six = [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "fd00::1"), ("MASTER_PORT", "1")];
    assert_eq!(place(&six), Ok((0, 2, "[fd00::1]:1".into())));
}

#[test]
fn half_a_place_is_refused_by_name() {
    let refused = |variables: &[(&str, &str)], why: &str| {
        let told = place(variables).expect_err("no place");
        assert!(told.starts_with(why), "{told}");
    };
    refused(&[("RANK", "0")], "WORLD_SIZE is not set");
    refused(&[("WORLD_SIZE", "2")], "RANK is not set");
    refused(&[("RANK", "0"), ("WORLD_SIZE", "2")], "MASTER_ADDR is not set");
    refused(&[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "x")], "MASTER_PORT is not set");
    refused(&[("RANK", "2"), ("WORLD_SIZE", "2")], "RANK=2 makes no sense: WORLD_SIZE is 2");
    refused(&[("RANK", "a"), ("WORLD_SIZE", "2")], "RANK=a makes no sense: a number");
    refused(&[("RANK", "0"), ("WORLD_SIZE", "65")], "WORLD_SIZE=65 makes no sense: 1 to 64");
}
