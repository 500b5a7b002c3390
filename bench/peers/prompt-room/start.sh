#!/bin/sh
# usage: PORT=3570 ./start.sh
cd "$(dirname "$0")" && exec ./venv/bin/python server.py
