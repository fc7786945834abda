// Rates that SimGrid's flow model gives to flows that all start at once. Reads a file:
//   l RATE               a channel, bytes per second, numbered from 0
//   f N CHANNEL...       a flow over N channels
// and prints the rate of each flow, bytes per second.
#include <fstream>
#include <iomanip>
#include <iostream>
#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

int main(int argc, char** argv)
{
  // Nothing but the capacities of the channels: no latency, no model of TCP's windows, no traffic of acknowledgements.
  sg4::Engine engine(&argc, argv);
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::Engine::set_config("network/crosstraffic:0");
  auto* zone = sg4::create_full_zone("zone");
  std::vector<sg4::Link*> links;
  std::vector<std::pair<sg4::Host*, sg4::Host*>> flows;
  std::ifstream in(argv[1]);
  std::string kind;
  while (in >> kind) {
    if (kind == "l") {
      double rate;
      in >> rate;
      links.push_back(zone->create_link("l" + std::to_string(links.size()), rate)->set_latency(0)->seal());
      continue;
    }
    // A pair of hosts of its own for every flow: several may join the same two machines over different ways.
    const auto name = std::to_string(flows.size());
    auto* from = zone->create_host("a" + name, 1e9)->seal();
    auto* to = zone->create_host("b" + name, 1e9)->seal();
    std::vector<sg4::LinkInRoute> route;
    size_t count = 0, link = 0;
    for (in >> count; count > 0 && in >> link; count--)
      route.emplace_back(links.at(link));
    zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
    flows.emplace_back(from, to);
  }
  zone->seal();
  const double bytes = 1e15, seconds = 1;
  auto* first = flows.at(0).first;
  sg4::Actor::create("observer", first, [&flows, bytes, seconds] {
    std::vector<sg4::CommPtr> comms;
    for (const auto& [from, to] : flows)
      comms.push_back(sg4::Comm::sendto_async(from, to, static_cast<uint64_t>(bytes)));
    sg4::this_actor::sleep_for(seconds);
    std::cout << std::setprecision(15);
    for (const auto& comm : comms)
      std::cout << (bytes - comm->get_remaining()) / seconds << "\n";
    std::cout.flush();
    std::_Exit(0);
  });
  engine.run();
  return 1;
}
