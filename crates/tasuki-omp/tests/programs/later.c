/* A task that is over when somebody says so, which there is not across hosts. */
#include <omp.h>
#include <stdio.h>

int main(void) {
    omp_event_handle_t event;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task detach(event)
        omp_fulfill_event(event);
    }
    puts("over");
    return 0;
}
