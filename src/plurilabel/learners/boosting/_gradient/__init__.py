"""Gradient boosting with trees and rules that score several labels at once."""
