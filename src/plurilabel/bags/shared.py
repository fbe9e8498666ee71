"""What other packages share with the learners of bags."""

from plurilabel.bags._bag_classifier import validated_bags

__all__ = ["validated_bags"]
