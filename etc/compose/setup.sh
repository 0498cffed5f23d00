#!/bin/sh
# Make the tables and register both cells; doing it twice is fine.
set -eu
top="armillary-manage --config-file /etc/armillary/common.conf --config-file /etc/armillary/top.conf --config-file /etc/armillary/accounts/conductor.conf"
$top db sync api cell0 placement
for n in 1 2; do
    armillary-manage --config-file /etc/armillary/common.conf --config-file "/etc/armillary/cell$n.conf" db sync cell
    $top cell create "cell$n" --uuid "00000000-0000-4000-8000-00000000000$n" \
        --transport-url "rabbit://conductor:conductor-try@rabbitmq:5672/cell$n" --if-missing
done
