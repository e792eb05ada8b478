alpha $! $- $? "$!"
