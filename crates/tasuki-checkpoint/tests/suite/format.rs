//! Images: every change of a byte is found.

use tasuki_checkpoint::Stamp;
use tasuki_checkpoint::image::{BLOCK, Bad, Encoder, Head, read_memory};
use tasuki_random::Random;

fn head(drawn: u64, lengths: &[usize]) -> Head {
    let regions =
        lengths.iter().enumerate().map(|(number, length)| (number as u32, *length as u64)).collect();
    Head { stamp: Stamp { epoch: 3, drawn }, rank: 2, size: 5, regions }
}

fn memory(lengths: &[usize], seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    lengths.iter().map(|length| (0..*length).map(|_| random.next_u64() as u8).collect()).collect()
}

fn encode(head: &Head, memory: &[Vec<u8>], random: &mut Random, piece: u64) -> Vec<u8> {
    let mut encoder = Encoder::new(head, memory.iter().map(Vec::as_slice).collect());
    let mut image = Vec::new();
    loop {
        let mut bytes = vec![0; random.between(1, piece) as usize];
        let filled = encoder.fill(&mut bytes);
        image.extend(&bytes[..filled]);
        if filled < bytes.len() {
            return image;
        }
    }
}

fn decode(mut image: &[u8]) -> Result<(Head, Vec<u8>), Bad> {
    let head = Head::read(&mut image)?;
    let mut memory = Vec::new();
    read_memory(&mut image, &head, |block| memory.extend(block))?;
    Ok((head, memory))
}

#[test]
fn what_goes_in_comes_out_in_pieces_of_any_length() {
    let mut random = Random::new(1);
    let cases: [&[usize]; 8] = [
        &[],
        &[0],
        &[1],
        &[BLOCK],
        &[BLOCK, 1],
        &[BLOCK - 1, 0, 2],
        &[0, 3 * BLOCK + 5, 0],
        &[100, 200, 2 * BLOCK - 300],
    ];
    for lengths in cases {
        let (head, memory) = (head(9, lengths), memory(lengths, 4));
        let image = encode(&head, &memory, &mut random, 3_000_000);
        assert_eq!(image.len() as u64, head.image_bytes(), "{lengths:?}");
        assert_eq!(image, encode(&head, &memory, &mut random, 20_000), "{lengths:?}");
        let (read, bytes) = decode(&image).expect("an image");
        assert_eq!(read, head);
        assert!(bytes == memory.concat(), "{lengths:?}");
    }
}

#[test]
fn no_changed_byte_and_no_other_length_passes() {
    let lengths = [5, 0, 300];
    let image = encode(&head(9, &lengths), &memory(&lengths, 4), &mut Random::new(1), 1_000);
    for at in 0..image.len() {
        for bit in 0..8 {
            let mut changed = image.clone();
            changed[at] ^= 1 << bit;
            assert!(decode(&changed).is_err(), "bit {bit} of byte {at} can be changed");
        }
        assert!(decode(&image[..at]).is_err(), "cut at {at}");
    }
    assert!(decode(&[image.as_slice(), &[0]].concat()).is_err(), "longer");
}

#[test]
fn blocks_cannot_be_exchanged() {
    let lengths = [2 * BLOCK];
    let one = encode(&head(9, &lengths), &memory(&lengths, 4), &mut Random::new(1), 1 << 20);
    let start = head(9, &lengths).to_bytes().len();
    let (first, second) = (start..start + BLOCK + 8, start + BLOCK + 8..start + 2 * (BLOCK + 8));
    let mut swapped = one.clone();
    swapped[first.clone()].copy_from_slice(&one[second.clone()]);
    swapped[second].copy_from_slice(&one[first.clone()]);
    assert!(decode(&swapped).is_err(), "blocks of one image in another order");
    // A block with equal memory, of another try of this epoch.
    let other = encode(&head(10, &lengths), &memory(&lengths, 4), &mut Random::new(1), 1 << 20);
    let mut mixed = one;
    mixed[first.clone()].copy_from_slice(&other[first]);
    assert!(decode(&mixed).is_err(), "a block of another try");
}
