// Containers, exceptions and streams of C++ in a parallel region. Prints "thread" from every thread, then sums.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

struct Table {
    std::map<std::string, int> entries;
    Table() {
        for (int i = 0; i < 100; i++)
            entries["k" + std::to_string(i)] = i;
    }
};

static Table table;
static std::vector<std::vector<double>> rows(64);

int main() {
    std::vector<long> sums(static_cast<size_t>(omp_get_max_threads()));
    int caught = 0;
#pragma omp parallel reduction(+ : caught)
    {
        int me = omp_get_thread_num();
        long sum = 0;
        for (const auto &entry : table.entries)
            sum += entry.second;
        sums[static_cast<size_t>(me)] = sum;
        try {
            throw std::runtime_error("x" + std::to_string(me));
        } catch (const std::runtime_error &error) {
            caught += error.what() == "x" + std::to_string(me);
        }
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 64; i++) {
            auto &row = rows[static_cast<size_t>(i)];
            row.resize(static_cast<size_t>(1000 + i));
            std::iota(row.begin(), row.end(), i);
            std::sort(row.rbegin(), row.rend());
            row.push_back(-1);
        }
#pragma omp critical
        std::cout << "thread" << std::endl;
    }
    double all = 0;
    for (const auto &row : rows)
        all += std::accumulate(row.begin(), row.end(), 0.0);
    std::cout << std::accumulate(sums.begin(), sums.end(), 0L) << ' ' << caught << ' ' << static_cast<long>(all)
              << std::endl;
    auto text = std::make_unique<std::string>(100000, 'a');
    std::cout << text->size() << ' ' << std::flush;
    return std::system("echo child") != 0;
}
