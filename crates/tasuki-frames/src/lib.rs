//! Translates frames of the message layer into those of the packet layer, and back. Neither layer knows the
//! other; the engine and the fault simulation join them by this crate.

use tasuki_msg::{Data, Epoch, Frame, Mark, MsgSeq, Queue, Start};
use tasuki_proto::{Outgoing, Payload};
use tasuki_wire::{Control, Frame as WireFrame, Mark as WireMark};

/// A frame of the message layer for the packet layer. `payload` says how the packet layer can ask for the
/// bytes; it is used if the frame has any.
pub fn outgoing(frame: &Frame, payload: Option<Payload>) -> Outgoing {
    let payload = payload.unwrap_or(Payload { key: 0, offset: 0, len: 0 });
    let control = match *frame {
        Frame::Start(start) => {
            return Outgoing::Start {
                seq: start.seq.0,
                tag: (start.queue != Queue::Msg).then_some(start.tag),
                internal: start.queue == Queue::Internal,
                data: start.data,
                remote_key: start.remote_key,
                charged: start.charged,
                ack: start.ack,
                len: start.len,
                early: start.early,
                payload,
            };
        }
        Frame::Data(data) => {
            return Outgoing::Data { seq: data.seq.0, offset: data.offset, early: data.early, payload };
        }
        Frame::Grant { seq, upto } => Control::Grant { seq: seq.0, upto },
        Frame::Done { seq } => Control::Done { seq: seq.0 },
        Frame::Credit { total } => Control::Credit { total },
        Frame::Recall { keep } => Control::Recall { keep },
        Frame::Return { total } => Control::Return { total },
        Frame::Quiesce { epoch, mark } => Control::Quiesce { epoch: epoch.0, mark: to_wire(mark) },
        Frame::Quiesced { epoch, mark } => Control::Quiesced { epoch: epoch.0, mark: to_wire(mark) },
        Frame::Resume { epoch } => Control::Resume { epoch: epoch.0 },
        Frame::Bye { mark } => Control::Bye { mark: to_wire(mark) },
    };
    Outgoing::Control(control)
}

/// A frame that has arrived, for the message layer, with its payload; `None` for frames that are the packet
/// layer's own.
pub fn incoming<'a>(frame: &WireFrame<'a>) -> Option<(Frame, &'a [u8])> {
    Some(match frame {
        WireFrame::Start(start) => (
            Frame::Start(Start {
                seq: MsgSeq(start.seq),
                queue: match (start.internal, start.tag) {
                    (true, _) => Queue::Internal,
                    (false, Some(_)) => Queue::Tagged,
                    (false, None) => Queue::Msg,
                },
                tag: start.tag.unwrap_or(0),
                data: start.data,
                len: start.len,
                early: start.early,
                inline: start.payload.len() as u64,
                charged: start.charged,
                ack: start.ack,
                remote_key: start.remote_key,
            }),
            start.payload,
        ),
        WireFrame::Data(data) => (
            Frame::Data(Data {
                seq: MsgSeq(data.seq),
                offset: data.offset,
                len: data.payload.len() as u64,
                early: data.early,
            }),
            data.payload,
        ),
        WireFrame::Control { control, .. } => (from_control(control), &[]),
        _ => return None,
    })
}

fn from_control(control: &Control) -> Frame {
    match *control {
        Control::Grant { seq, upto } => Frame::Grant { seq: MsgSeq(seq), upto },
        Control::Done { seq } => Frame::Done { seq: MsgSeq(seq) },
        Control::Credit { total } => Frame::Credit { total },
        Control::Recall { keep } => Frame::Recall { keep },
        Control::Return { total } => Frame::Return { total },
        Control::Quiesce { epoch, mark } => Frame::Quiesce { epoch: Epoch(epoch), mark: from_wire(mark) },
        Control::Quiesced { epoch, mark } => Frame::Quiesced { epoch: Epoch(epoch), mark: from_wire(mark) },
        Control::Resume { epoch } => Frame::Resume { epoch: Epoch(epoch) },
        Control::Bye { mark } => Frame::Bye { mark: from_wire(mark) },
    }
}

fn to_wire(mark: Mark) -> WireMark {
    WireMark { frames: mark.frames, bytes: mark.bytes }
}

fn from_wire(mark: WireMark) -> Mark {
    Mark { frames: mark.frames, bytes: mark.bytes }
}
