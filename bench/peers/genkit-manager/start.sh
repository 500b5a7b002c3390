#!/bin/sh
# usage: PORT=3550 ./start.sh     tools API on PORT, runtimes dial PORT+1, traces go to PORT+2
cd "$(dirname "$0")" && NODE_ENV=production exec node manager.js
