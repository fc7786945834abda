"""Runs mpi4py's test suite: suite.py FOLDER TESTS ARGUMENTS. FOLDER is one that all hosts share, for the
tests of parallel input and output; a lab's hosts have a /tmp of their own each."""
import runpy
import sys
import tempfile

tempfile.tempdir, tests = sys.argv[1:3]
sys.argv = [tests] + sys.argv[3:]
sys.path.insert(0, tests.rpartition("/")[0])
runpy.run_path(tests, run_name="__main__")
